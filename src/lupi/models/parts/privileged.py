"""Parts 3 and 4: privileged information, and the representation that it corrects."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi.distributions import AnyArray
from lupi.models.parts.layers import MLP
from lupi.models.process import AbstractPrivilegedPart


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
        marks_gaps: bool,
    ):
        inputs = privileged_size * (2 if marks_gaps else 1)
        sizes = (inputs, hidden_size, hidden_size, representation_size)
        self.mlp = MLP(sizes)
        self.marks_gaps = marks_gaps

    def __call__(
        self, privileged: Float[AnyArray, " privileged"]
    ) -> Float[Array, " representation"]:
        gaps = jnp.isnan(privileged)
        values = jnp.where(gaps, 0.0, privileged)
        return self.mlp(values, gaps.astype(values.dtype)) if self.marks_gaps else self.mlp(values)


class ResidualCorrection(AbstractPrivilegedPart):
    r"""$r = g(r_X, r_\pi) = r_X + g'(r_X, r_\pi)$: privileged information as a correction.

    Without it the representation is $r_X$ itself, which is what a prediction uses.
    """

    privileged_size: int = eqx.field(static=True)
    encoder: PrivilegedEncoder
    mlp: MLP

    def __init__(
        self,
        privileged_size: int,
        aggregate_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        marks_gaps: bool,
    ):
        self.privileged_size = privileged_size
        self.encoder = PrivilegedEncoder(
            privileged_size,
            hidden_size=hidden_size,
            representation_size=representation_size,
            marks_gaps=marks_gaps,
        )
        sizes = (aggregate_size + representation_size, hidden_size, hidden_size, aggregate_size)
        self.mlp = MLP(sizes)

    def __call__(
        self, summary: Float[Array, " aggregate"], privileged: Float[AnyArray, " privileged"]
    ) -> Float[Array, " aggregate"]:
        corrected = summary + self.mlp(summary, self.encoder(privileged))
        return jnp.where(jnp.isnan(privileged).all(), summary, corrected)
