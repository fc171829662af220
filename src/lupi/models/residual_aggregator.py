"""Part 4: the observations' representation, corrected by the privileged one."""

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import MLP


class ResidualAggregator(eqx.Module):
    r"""$r = g(r_X, r_\pi) = r_X + g'(r_X, r_\pi)$: privileged information as a correction.

    Without it the representation is $r_X$ itself, which is what a prediction uses.
    """

    mlp: MLP

    def __init__(
        self,
        aggregate_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        key: PRNGKeyArray,
    ):
        inputs = aggregate_size + representation_size
        self.mlp = MLP((inputs, hidden_size, hidden_size, aggregate_size), key=key)

    def __call__(
        self,
        aggregate: Float[Array, " aggregate"],
        privileged_representation: Float[Array, " representation"],
    ) -> Float[Array, " aggregate"]:
        return aggregate + self.mlp(aggregate, privileged_representation)
