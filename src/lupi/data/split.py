"""Random context and target sets."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lupi.data.observations import Observations
from lupi.distributions import AnyArray

SizeRange = tuple[int, int]
"""The smallest and the largest size of a random set, both included."""


class Contexts(BaseModel):
    """What contexts look like, as the share of each kind; only what they are to each other counts.
    A kind that is not named has none.

    Where there is another kind than `random`, sizes follow the series: at least one of its points
    is left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    random: float = Field(default=0.0, ge=0)
    """Points from anywhere."""
    first: float = Field(default=0.0, ge=0)
    """Points up to some time: the rest is a forecast."""
    last: float = Field(default=0.0, ge=0)
    """Points from some time on."""
    gap: float = Field(default=0.0, ge=0)
    """Points before some time and after another."""
    one: float = Field(default=0.0, ge=0)
    """A single point."""
    none: float = Field(default=0.0, ge=0)
    """No point at all."""

    @model_validator(mode="after")
    def _some(self) -> "Contexts":
        if not any(self.shares):
            raise ValueError("at least one kind of context must have a share above 0")
        return self

    @property
    def shares(self) -> tuple[float, ...]:
        """In the order of the kinds."""
        return tuple(getattr(self, name) for name in type(self).model_fields)

    @property
    def are_random(self) -> bool:
        """Whether there is no kind but `random`."""
        return not any(self.shares[1:])


RANDOM = Contexts(random=1.0)
"""Random points and nothing else, as the paper has it."""


class Split(eqx.Module):
    """A target set and the context set inside it."""

    target: Observations
    in_context: Bool[AnyArray, "*task time"]
    """Which points of the target are also in the context."""

    @property
    def context(self) -> Observations:
        """The context set."""
        return self.target.only(self.in_context)

    def with_room(self, number: int) -> "Split":
        """The same of one task, with room for so many points; the target must have no more.

        What is not in the target takes as long to represent and to decode as what is. Where less
        than a tenth would be saved, as in the paper's setting, everything stays where it is.
        """
        if 10 * number > 9 * self.in_context.shape[-1]:
            return self
        chosen = jnp.argsort(~self.target.mask, stable=True)[:number]
        target = self.target.map_points(lambda leaf: jnp.asarray(leaf)[chosen])
        return Split(target, self.in_context[chosen])


def split_randomly(
    observations: Observations,
    *,
    context_sizes: SizeRange,
    target_sizes: SizeRange,
    contexts: Contexts = RANDOM,
    key: PRNGKeyArray,
) -> Split:
    """Draw a context inside a target at random among the real points; both sizes are uniform.

    A series with fewer real points than a drawn size gives all its points.
    """
    keys = jax.random.split(key, 3)
    position = jax.random.uniform(keys[0], observations.mask.shape)
    num_context, num_target = _random_sizes((context_sizes, target_sizes), keys=keys[1:])
    if contexts.are_random:
        rank = _ranks(observations.mask, position)
        in_context = rank < num_context
    else:
        in_context = _draw_kind(observations, position, context_sizes, contexts, key=keys[1])
        num_context = jnp.sum(in_context)
        rank = _ranks(observations.mask, jnp.where(in_context, -1.0, position))
    return Split(observations.only(rank < jnp.maximum(num_target, num_context)), in_context)


def _draw_kind(
    observations: Observations,
    position: Float[Array, " time"],
    sizes: SizeRange,
    contexts: Contexts,
    *,
    key: PRNGKeyArray,
) -> Bool[Array, " time"]:
    """A context of a random kind: the real points of lowest position outside of a window."""
    mask = observations.mask
    number = jnp.sum(mask)
    of_kind, of_size, of_window, of_start = jax.random.uniform(jax.random.fold_in(key, 1), (4,))
    ends = np.cumsum(contexts.shares) / sum(contexts.shares)
    _, first, last, gap, one, none = jnp.arange(len(ends)) == jnp.searchsorted(ends, of_kind)
    smallest, largest = (jnp.minimum(size, number - 1) for size in sizes)
    size = smallest + (of_size * (largest - smallest + 1)).astype(int)
    size = jnp.where(none, 0, jnp.where(one, 1, size))
    # The window has some of the points that the context can do without, or none of them.
    inside = jnp.ceil(of_window * (number - size)).astype(int)
    inside = jnp.where(first | last | gap, inside, 0)
    outside = number - inside
    start = (of_start * (outside + 1)).astype(int)
    start = jnp.where(first, outside, jnp.where(last, 0, start))
    order = _ranks(mask, observations.ts)
    in_window = (order >= start) & (order < start + inside)
    return _ranks(mask & ~in_window, position) < jnp.minimum(size, outside)


def draw_context(
    observations: Observations, *, sizes: SizeRange, key: PRNGKeyArray
) -> Observations:
    """Draw a context at random among the real points, its size uniform."""
    return split_randomly(observations, context_sizes=sizes, target_sizes=sizes, key=key).context


def _ranks(mask: Bool[AnyArray, " time"], values: Float[AnyArray, " time"]) -> Int[Array, " time"]:
    """The place of each point in the order of its values, the real ones before all others."""
    order = jnp.argsort(jnp.where(mask, values, jnp.inf))
    return jnp.zeros_like(order).at[order].set(jnp.arange(order.size))


def _random_sizes(ranges: Sequence[SizeRange], *, keys: Key[Array, " _"]) -> Int[Array, " _"]:
    """A size from each range."""
    smallest, largest = jnp.array(ranges).T
    # Mapped, not one by one: every use of the generator is compiled apart.
    return jax.vmap(lambda key, a, b: jax.random.randint(key, (), a, b))(
        keys, smallest, largest + 1
    )
