"""Random context and target sets."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from lupi.data.observations import Observations

SizeRange = tuple[int, int]
"""The smallest and the largest size of a random set, both included."""


class Split(NamedTuple):
    """A context set and the target set that contains it."""

    context: Observations
    target: Observations


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
    order_key, context_key, target_key = jax.random.split(key, 3)
    rank = _random_ranks(observations.mask, key=order_key)
    num_context = _random_size(context_sizes, key=context_key)
    num_target = _random_size(target_sizes, key=target_key)
    return Split(
        context=observations.only(rank < num_context),
        target=observations.only(rank < jnp.maximum(num_target, num_context)),
    )


def draw_context(
    observations: Observations, *, sizes: SizeRange, key: PRNGKeyArray
) -> Observations:
    """Draw a context at random among the real points, its size uniform."""
    return split_randomly(observations, context_sizes=sizes, target_sizes=sizes, key=key).context


def _random_ranks(mask: Bool[Array, " time"], *, key: PRNGKeyArray) -> Int[Array, " time"]:
    """A random order of the points, the real ones first."""
    position = jnp.where(mask, jax.random.uniform(key, mask.shape), jnp.inf)
    order = jnp.argsort(position)
    return jnp.zeros_like(order).at[order].set(jnp.arange(order.size))


def _random_size(sizes: SizeRange, *, key: PRNGKeyArray) -> Int[Array, ""]:
    smallest, largest = sizes
    return jax.random.randint(key, (), smallest, largest + 1)
