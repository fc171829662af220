"""Parts 3 and 4: privileged information, and the representation that it corrects."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import AnyArray
from lupi.models.parts.layers import MLP
from lupi.models.process import AbstractPrivilegedPart


class Sizes(NamedTuple):
    """What a part for privileged values is built from."""

    privileged: int
    aggregate: int
    latent: int
    hidden: int
    representation: int
    marks_gaps: bool


class PrivilegedEncoder(eqx.Module):
    r"""$r_\pi = f_\pi(\pi)$: the representation of what is known in training only.

    NaN, a value that is not known, enters as 0, and with `marks_gaps` a flag for each value says
    whether it is.
    """

    mlp: MLP
    marks_gaps: bool = eqx.field(static=True)

    def __init__(self, sizes: Sizes):
        inputs = sizes.privileged * (2 if sizes.marks_gaps else 1)
        self.mlp = MLP((inputs, sizes.hidden, sizes.hidden, sizes.representation))
        self.marks_gaps = sizes.marks_gaps

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

    def __init__(self, sizes: Sizes):
        self.privileged_size = sizes.privileged
        self.encoder = PrivilegedEncoder(sizes)
        together = sizes.aggregate + sizes.representation
        self.mlp = MLP((together, sizes.hidden, sizes.hidden, sizes.aggregate))

    def __call__(
        self,
        summary: Float[Array, " aggregate"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, " aggregate"]:
        corrected = summary + self.mlp(summary, self.encoder(privileged))
        return jnp.where(jnp.isnan(privileged).all(), summary, corrected)
