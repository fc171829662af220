"""Aggregators that read points in order of time: the latest first, as latent ODEs start at 0."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lupi.distributions import AnyArray
from lupi.models.parts.aggregator import AbstractAggregator
from lupi.models.parts.layers import MLP, Linear

TERMS = 2
"""Of the matrix of a controlled differential equation."""


def latest_first(
    representations: Float[AnyArray, "time representation"],
    mask: Bool[AnyArray, " time"],
    ts: Float[AnyArray, " time"],
) -> tuple[Float[Array, "time representation"], Bool[Array, " time"], Float[Array, " time"]]:
    """The points in decreasing order of time, and padding behind them.

    Points of one time stand in the order of what they are, so that how they came does not matter.
    """
    ts, mask = jnp.asarray(ts), jnp.asarray(mask)
    what = jax.lax.stop_gradient(representations).sum(axis=-1)
    order = jnp.lexsort((what, jnp.where(mask, -ts, jnp.inf)))
    return representations[order], mask[order], ts[order]


class RecurrentReader(AbstractAggregator):
    """A gated recurrent unit (Cho et al., 2014): its state after the first point in time."""

    aggregate_size: int = eqx.field(static=True)
    from_point: Linear
    from_state: Linear

    def __init__(self, representation_size: int):
        self.aggregate_size = representation_size
        self.from_point = Linear(representation_size, 3 * representation_size)
        self.from_state = Linear(representation_size, 3 * representation_size)

    def of_some(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
        ts: Float[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """Padding leaves the state as it is."""
        points, real, _ = latest_first(representations, mask, ts)

        def step(state, point):
            told, is_real = point
            update, reset, new = jnp.split(told, 3)
            kept_update, kept_reset, kept = jnp.split(self.from_state(state), 3)
            share = jax.nn.sigmoid(update + kept_update)
            candidate = jnp.tanh(new + jax.nn.sigmoid(reset + kept_reset) * kept)
            moved = share * state + (1 - share) * candidate
            return jnp.where(is_real, moved, state), None

        start = jnp.zeros(self.aggregate_size)
        return jax.lax.scan(step, start, (self.from_point(points), real))[0]


class ControlledReader(AbstractAggregator):
    r"""A neural controlled differential equation (Kidger et al., 2020): $dh = F(h)\,dX$.

    X goes in straight lines through the points, each its time and its representation; h starts from
    the first point that is read. Between two of them there is one step of the midpoint rule. Where
    X does not move, as behind the last point, h does not either.

    $F(h) = \sum_k \mathrm{diag}(a_k(h))\,B_k$, not a whole matrix for each h, which takes six times
    as long: $B_k X$ is known before anything is solved.
    """

    aggregate_size: int = eqx.field(static=True)
    start: MLP
    path: Linear
    """$B_k X$ of all k."""
    field: MLP
    """$a_k(h)$ of all k."""

    def __init__(self, representation_size: int, *, hidden_size: int):
        size = representation_size
        self.aggregate_size = size
        self.start = MLP((1 + size, hidden_size, size))
        self.path = Linear(1 + size, TERMS * size)
        self.field = MLP((size, hidden_size, TERMS * size))

    def of_some(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
        ts: Float[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """The state at the end of the path."""
        points, real, times = latest_first(representations, mask, ts)
        path = self.path(times[:, None], points)
        path = path[jnp.minimum(jnp.arange(len(path)), jnp.maximum(real.sum() - 1, 0))]

        def change(state, step):
            return (jnp.tanh(self.field(state)) * step).reshape(TERMS, -1).sum(axis=0)

        def move(state, step):
            return state + change(state + change(state, step) / 2, step), None

        start = self.start(times[:1], points[0])
        return jax.lax.scan(move, start, jnp.diff(path, axis=0))[0]
