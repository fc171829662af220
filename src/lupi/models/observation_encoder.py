"""Part 1: observations to representations."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from lupi.errors import UserError
from lupi.models.layers import MLP


class ObservationEncoder(eqx.Module):
    """$r_i = f_{obs}(t_i, y_i)$: the representation of one observation, or of each of many.

    A missing value enters as 0, and with `marks_gaps` a flag for each value says whether it is.
    """

    mlp: MLP
    marks_gaps: bool = eqx.field(static=True)

    def __init__(
        self,
        observation_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        marks_gaps: bool = False,
        key: PRNGKeyArray,
    ):
        inputs = 1 + observation_size * (2 if marks_gaps else 1)
        self.mlp = MLP((inputs, hidden_size, hidden_size, representation_size), key=key)
        self.marks_gaps = marks_gaps

    @property
    def observation_size(self) -> int:
        """How many quantities are observed."""
        return (self.mlp.in_size - 1) // (2 if self.marks_gaps else 1)

    def __call__(
        self,
        t: Float[Array, "*time"],
        y: Float[Array, "*time observation"],
        gaps: Bool[Array, "*time observation"] | None = None,
    ) -> Float[Array, "*time representation"]:
        if gaps is not None:
            if not self.marks_gaps:
                raise UserError(
                    "the observations have gaps, but this process does not mark them: drop the "
                    "points with a gap, or build it with marks_gaps=True."
                )
            y = jnp.where(gaps, 0.0, y)
        parts = [t[..., None], y]
        if self.marks_gaps:
            parts.append(jnp.zeros_like(y) if gaps is None else gaps.astype(y.dtype))
        return self.mlp(jnp.concatenate(parts, axis=-1))
