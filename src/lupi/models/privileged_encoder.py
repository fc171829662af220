"""Part 3: privileged information to its representation."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import MLP


class PrivilegedEncoder(eqx.Module):
    r"""$r_\pi = f_\pi(\pi)$: the representation of what is known in training only.

    NaN, a value that is not known, enters as 0, and with `marks_gaps` a flag for each value says
    whether it is.
    """

    mlp: MLP
    marks_gaps: bool = eqx.field(static=True)

    def __init__(
        self,
        privileged_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        marks_gaps: bool = False,
        key: PRNGKeyArray,
    ):
        inputs = privileged_size * (2 if marks_gaps else 1)
        self.mlp = MLP((inputs, hidden_size, hidden_size, representation_size), key=key)
        self.marks_gaps = marks_gaps

    @property
    def privileged_size(self) -> int:
        """How many privileged values there are."""
        return self.mlp.in_size // (2 if self.marks_gaps else 1)

    def __call__(self, privileged: Float[Array, " privileged"]) -> Float[Array, " representation"]:
        gaps = jnp.isnan(privileged)
        values = jnp.where(gaps, 0.0, privileged)
        return self.mlp(values, gaps.astype(values.dtype)) if self.marks_gaps else self.mlp(values)
