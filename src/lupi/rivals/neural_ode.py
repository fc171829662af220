"""Neural ODEs of one series: a small network, fitted to the context when it is asked."""

import math
from functools import partial
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, Prediction, solve
from lupi.rivals.units import Units

Kind = Literal["vanilla", "augmented", "second-order"]
"""What moves: the observed quantities; with others beside them that begin at 0; with velocities."""

HIDDEN = 16
"""Units of the network's two layers."""

AUGMENTED = 2
"""Further quantities of an augmented one."""

STEPS, LEARNING_RATE, LARGEST_SLOPE = 600, 0.02, 1.0
"""Of Adam; slopes are cut to this length."""

DECAY = 0.01
"""Of the weights, in each step and in units of the learning rate."""

PACE = 8.0
"""By which time goes faster than the span of the training systems in 1: weights of about 1 then
make what changes several times in that span."""

SOLVER_STEPS = 24
"""To a unit of time."""

LEAST_NOISE = 0.01
"""In standard deviations of a quantity over the training systems."""


class NeuralODE(AbstractPredictor):
    """One solution of dx/dt = f(x), f a network, that goes through the context of one series.

    It is trained for each context anew, in 600 steps of Adam, and has learnt nothing from other
    systems but the units. There is one solution and no distribution over them, so it cannot tell
    its uncertainty: its one scale is that of the residuals it leaves, the same at all times and
    far too small where it has many more weights than points. From nothing it is the mean and the
    standard deviation of the training systems.
    """

    units: Units
    kind: Kind = eqx.field(static=True)

    @classmethod
    def of(cls, tasks: Task, kind: Kind) -> "NeuralODE":
        """In the units of training systems."""
        return cls(units=Units.of(tasks), kind=kind)  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.units.mean.shape[-1]

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """One Normal at each time."""
        known = jnp.broadcast_to(context.known, context.ys.shape)
        ys = jnp.where(known, self.units.to_own(context.ys), 0.0)
        ts = jnp.where(context.mask, context.ts, 0.0)
        weights, scales = self.fit(ts, ys, known, horizon=horizon, key=key)
        means = self.units.to_model(self._solution(weights, jnp.asarray(times), horizon))
        scales = jnp.broadcast_to(self.units.std * scales, means.shape)
        return Prediction(jnp.asarray(times), means[None], scales[None], key)

    def fit(self, ts, ys, known, *, horizon: int, key: PRNGKeyArray):
        """The weights that are found, and the scale of the residuals of each quantity."""

        def squares(weights):
            found = self._solution(weights, ts, horizon)
            return jnp.where(known, (found - ys) ** 2, 0.0)

        def loss(weights):
            return squares(weights).sum() / jnp.maximum(known.sum(), 1)

        schedule = optax.cosine_decay_schedule(LEARNING_RATE, STEPS)
        optimiser = optax.chain(
            optax.clip_by_global_norm(LARGEST_SLOPE), optax.adamw(schedule, weight_decay=DECAY)
        )

        def step(state, _):
            weights, memory, best, lowest = state
            value, slope = jax.value_and_grad(loss)(weights)
            better = value < lowest  # never of NaN: where a solution ends, nothing is learnt
            best = jax.tree.map(lambda new, old: jnp.where(better, new, old), weights, best)
            slope = jax.tree.map(lambda one: jnp.where(jnp.isfinite(one), one, 0.0), slope)
            update, memory = optimiser.update(slope, memory, weights)
            weights = optax.apply_updates(weights, update)
            return (weights, memory, best, jnp.minimum(value, lowest)), None

        first = self._first(ts, ys, known, key)
        begin = (first, optimiser.init(first), first, jnp.inf)
        (_, _, best, _), _ = jax.lax.scan(step, begin, length=STEPS)
        number = known.sum(axis=0)
        scales = jnp.sqrt(squares(best).sum(axis=0) / jnp.maximum(number, 1))
        return best, jnp.where(number > 0, jnp.maximum(scales, LEAST_NOISE), 1.0)

    @property
    def _sizes(self) -> tuple[int, int]:
        """Of the state, and of what the network gives of its derivative."""
        size = self.observation_size
        augmented = size + AUGMENTED
        return {
            "vanilla": (size, size),
            "augmented": (augmented, augmented),
            "second-order": (2 * size, size),
        }[self.kind]

    def _first(self, ts, ys, known, key: PRNGKeyArray) -> dict[str, Array]:
        """Nothing moves, from where the first points are."""
        state, slope = self._sizes
        keys = jax.random.split(key)
        return {
            "one": jax.random.normal(keys[0], (state, HIDDEN)) / math.sqrt(state),
            "one bias": jnp.zeros(HIDDEN),
            "two": jax.random.normal(keys[1], (HIDDEN, HIDDEN)) / math.sqrt(HIDDEN),
            "two bias": jnp.zeros(HIDDEN),
            "three": jnp.zeros((HIDDEN, slope)),
            "three bias": jnp.zeros(slope),
            "linear": jnp.zeros((state, slope)),
            "start": _earliest(ts, ys, known),
            "velocity": jnp.zeros(self.observation_size),
        }

    def _solution(self, weights, times, horizon: int) -> Float[Array, "time observation"]:
        start, size = weights["start"], self.observation_size
        if self.kind == "second-order":
            start = jnp.concatenate([start, weights["velocity"]])
        elif self.kind == "augmented":
            start = jnp.concatenate([start, jnp.zeros(AUGMENTED)])
        field = partial(_field, weights, self.kind == "second-order")
        sizes = {"steps_per_unit": SOLVER_STEPS, "horizon": horizon}
        return solve(field, start, times, **sizes)[:, :size]


def _field(weights, second_order: bool, time, state) -> Float[Array, " state"]:
    hidden = jnp.tanh(state @ weights["one"] + weights["one bias"])
    hidden = jnp.tanh(hidden @ weights["two"] + weights["two bias"])
    slope = hidden @ weights["three"] + weights["three bias"] + state @ weights["linear"]
    return PACE * (jnp.concatenate([state[len(slope) :], slope]) if second_order else slope)


def _earliest(ts, ys, known) -> Float[Array, " observation"]:
    """The first value of each quantity, or its mean."""
    order = jnp.where(known, ts[:, None], jnp.inf)
    first = jnp.take_along_axis(ys, jnp.argmin(order, axis=0)[None], axis=0)[0]
    return jnp.where(known.any(axis=0), first, 0.0)
