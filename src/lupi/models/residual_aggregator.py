"""Part 4: the observations' representation, corrected by the privileged one."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import mlp


class ResidualAggregator(eqx.Module):
    r"""$r = g(r_X, r_\pi) = r_X + g'(r_X, r_\pi)$: privileged information as a correction.

    Without it the representation is $r_X$ itself, which is what a prediction uses.
    """

    mlp: eqx.nn.MLP

    def __init__(
        self,
        aggregate_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        key: PRNGKeyArray,
    ):
        self.mlp = mlp(aggregate_size + representation_size, aggregate_size, hidden_size, key=key)

    def __call__(
        self,
        aggregate: Float[Array, " aggregate"],
        privileged_representation: Float[Array, " representation"],
    ) -> Float[Array, " aggregate"]:
        return aggregate + self.mlp(jnp.concatenate([aggregate, privileged_representation]))
