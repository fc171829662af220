"""Part 2: many representations to one."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lupi.distributions import AnyArray
from lupi.models.parts.layers import Linear, softplus


class AbstractAggregator(eqx.Module):
    r"""$r_X = \oplus_i r_i$: one vector of the real points, in whatever order they come.

    With no real point at all it is zero.
    """

    aggregate_size: eqx.AbstractVar[int]
    """The size of that vector."""

    @abc.abstractmethod
    def of_some(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
        ts: Float[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """Of at least one real point; without any it may be anything that is finite."""

    def __call__(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
        ts: Float[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """Of the points that `mask` calls real, each at its time."""
        if len(mask) == 0:
            return jnp.zeros(self.aggregate_size)
        return jnp.where(mask.any(), self.of_some(representations, mask, ts), 0.0)


def _mean(values, mask):
    return jnp.where(mask[:, None], values, 0.0).sum(axis=0) / jnp.maximum(mask.sum(), 1)


def _behind(values, mask):
    """The values, and the least number there is in the place of padding.

    Not -inf: the gradient of LogSumExp at an all -inf column is NaN.
    """
    return jnp.where(mask[:, None], values, jnp.finfo(values.dtype).min)


def _logsumexp(values, mask):
    """A smooth maximum, which also tells how many points there are."""
    return jax.nn.logsumexp(_behind(values, mask), axis=0)


def _max(values, mask):
    return _behind(values, mask).max(axis=0)


POOLS = {
    "mean": (_mean,),
    "logsumexp": (_logsumexp,),
    "max": (_max,),
    "mean-logsumexp": (_mean, _logsumexp),
    "mean-max": (_mean, _max),
}
"""What is taken over the points, by name; of several the results stand side by side."""


class Pool(AbstractAggregator):
    """Entry by entry over the points: the mean, the LogSumExp, the maximum, or two of them."""

    aggregate_size: int = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def __init__(self, name: str, representation_size: int):
        """`name`: one of `POOLS`; the paper's is `mean-logsumexp`."""
        self.name = name
        self.aggregate_size = len(POOLS[name]) * representation_size

    def of_some(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
        ts: Float[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """The results, side by side."""
        return jnp.concatenate([take(representations, mask) for take in POOLS[self.name]])


class BayesianAggregator(AbstractAggregator):
    r"""Every point is a noisy measurement of one Gaussian vector (Volpp et al., 2021).

    Point i says $u_i \pm s_i$ of a vector that is standard Normal beforehand. What is known of it
    after all of them has the precision $1 + \sum_i s_i^{-2}$ and the mean
    $\sum_i u_i s_i^{-2}$ over that: points that tell little count little, and it is known how much
    all of them tell. The mean and the logarithm of the scale stand side by side.
    """

    aggregate_size: int = eqx.field(static=True)
    mean: Linear
    scale: Linear

    def __init__(self, representation_size: int):
        self.aggregate_size = 2 * representation_size
        self.mean = Linear(representation_size, representation_size)
        self.scale = Linear(representation_size, representation_size)

    def of_some(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
        ts: Float[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """The posterior of the vector."""
        # No measurement is exact: one would settle everything, with an infinite slope.
        scales = 0.01 + softplus(self.scale(representations))
        precisions = jnp.where(mask[:, None], scales**-2, 0.0)
        precision = 1 + precisions.sum(axis=0)
        mean = (precisions * self.mean(representations)).sum(axis=0) / precision
        return jnp.concatenate([mean, -0.5 * jnp.log(precision)])


class AttentionAggregator(AbstractAggregator):
    """Each entry of the aggregate looks at the points with a learnt query of its own."""

    aggregate_size: int = eqx.field(static=True)
    queries: Linear
    """How much each entry heeds a point: the product of its query with the point."""
    values: Linear

    def __init__(self, representation_size: int):
        self.aggregate_size = representation_size
        self.queries = Linear(representation_size, representation_size)
        self.values = Linear(representation_size, representation_size)

    def of_some(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
        ts: Float[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """The weighted mean of the values, with other weights for each entry."""
        weights = jax.nn.softmax(_behind(self.queries(representations), mask), axis=0)
        return (weights * self.values(representations)).sum(axis=0)
