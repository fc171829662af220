"""Random context and target sets."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray

SizeRange = tuple[int, int]
"""The smallest and the largest size of a random set, both included."""


class Split(eqx.Module):
    """A target set and the context set inside it."""

    target: Observations
    in_context: Bool[AnyArray, "*task time"]
    """Which points of the target are also in the context."""

    @property
    def context(self) -> Observations:
        """The context set."""
        return self.target.only(self.in_context)


def split_randomly(
    observations: Observations,
    *,
    context_sizes: SizeRange,
    target_sizes: SizeRange,
    key: PRNGKeyArray,
) -> Split:
    """Draw a context inside a target at random among the real points; both sizes are uniform.

    A series with fewer real points than a drawn size gives all its points.
    """
    keys = jax.random.split(key, 3)
    rank = _random_ranks(observations.mask, key=keys[0])
    num_context, num_target = _random_sizes((context_sizes, target_sizes), keys=keys[1:])
    target = observations.only(rank < jnp.maximum(num_target, num_context))
    return Split(target, rank < num_context)


def draw_context(
    observations: Observations, *, sizes: SizeRange, key: PRNGKeyArray
) -> Observations:
    """Draw a context at random among the real points, its size uniform."""
    return split_randomly(observations, context_sizes=sizes, target_sizes=sizes, key=key).context


def _random_ranks(mask: Bool[AnyArray, " time"], *, key: PRNGKeyArray) -> Int[Array, " time"]:
    """A random order of the points, the real ones first."""
    position = jnp.where(mask, jax.random.uniform(key, mask.shape), jnp.inf)
    order = jnp.argsort(position)
    return jnp.zeros_like(order).at[order].set(jnp.arange(order.size))


def _random_sizes(ranges: Sequence[SizeRange], *, keys: Key[Array, " _"]) -> Int[Array, " _"]:
    """A size from each range."""
    smallest, largest = jnp.array(ranges).T
    # Mapped, not one by one: every use of the generator is compiled apart.
    return jax.vmap(lambda key, a, b: jax.random.randint(key, (), a, b))(
        keys, smallest, largest + 1
    )
