"""A plain guess: it will go on as the training system did that was most like it."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, Prediction

GRID = 64
MOST_SERIES = 256
WIDTHS = tuple(2.0 ** np.arange(-6.0, 1.5, 0.5))
"""Of which the training systems choose one, each explained by the others."""


class NearestSeries(AbstractPredictor):
    """Training systems, weighed by how near they are to what was observed."""

    trajectories: Float[AnyArray, "series grid observation"]
    width: Float[AnyArray, ""]
    """How far a system may be from the one most like it."""

    @classmethod
    def of(cls, tasks: Task) -> "NearestSeries":
        """Of training systems: in straight lines between their points, and level beyond them."""
        seen = tasks.observations
        chosen = np.random.default_rng(0).permutation(len(tasks))[:MOST_SERIES]
        grid = np.linspace(0.0, 1.0, GRID)
        ts, ys = np.asarray(seen.ts, float)[chosen], np.asarray(seen.ys, float)[chosen]
        known = np.broadcast_to(np.asarray(seen.known), np.shape(seen.ys))[chosen]
        trajectories = np.zeros((len(chosen), GRID, ys.shape[-1]))
        for i, j in np.ndindex(len(chosen), ys.shape[-1]):
            there = known[i, :, j]
            if there.any():
                order = np.argsort(ts[i, there])
                trajectories[i, :, j] = np.interp(grid, ts[i, there][order], ys[i, there, j][order])
        width = np.array(_best_width(trajectories), np.float32)
        return cls(trajectories=trajectories.astype(np.float32), width=width)  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.trajectories.shape[-1]

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """A Normal around each of the systems that were drawn, the nearer the more often."""
        known = jnp.broadcast_to(context.known, context.ys.shape)
        distances = (_at(self.trajectories, context.ts) - context.ys) / self.width
        log_weights = -0.5 * jnp.sum(distances**2, axis=(1, 2), where=known)
        weights = jnp.cumsum(jax.nn.softmax(log_weights))
        places = (jnp.arange(num_samples) * 0.6180339887) % 1.0
        chosen = jnp.clip(jnp.searchsorted(weights, places), 0, len(weights) - 1)
        means = _at(jnp.asarray(self.trajectories)[chosen], times)
        return Prediction(jnp.asarray(times), means, jnp.full_like(means, self.width), key)


def _at(trajectories, times) -> Float[Array, "series time observation"]:
    position = jnp.clip(jnp.asarray(times), 0.0, 1.0) * (GRID - 1)
    left = jnp.clip(position.astype(int), 0, GRID - 2)
    share = (position - left)[:, None]
    trajectories = jnp.asarray(trajectories)
    return (1 - share) * trajectories[:, left] + share * trajectories[:, left + 1]


def _best_width(trajectories: Float[np.ndarray, "series grid observation"]) -> float:
    """With which the second half of each system is best explained by its first and the others."""
    number = len(trajectories)
    if number < 3:
        return 1.0
    first, second = np.split(trajectories, 2, axis=1)

    def squares(part):
        flat = part.reshape(number, -1)
        sums = (flat**2).sum(axis=1)
        # Points on the grid are not independent: as if there were eight.
        return np.maximum(sums[:, None] + sums - 2 * flat @ flat.T, 0.0) * 8 / flat.shape[1]

    near, far = squares(first), squares(second)
    np.fill_diagonal(near, np.inf)
    size = 8
    scores = []
    for width in WIDTHS:
        logs = -0.5 * near / width**2
        logs -= logs.max(axis=1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        explained = logs - 0.5 * far / width**2 - size * np.log(width)
        top = explained.max(axis=1)
        scores.append((top + np.log(np.exp(explained - top[:, None]).sum(axis=1))).mean())
    return WIDTHS[int(np.argmax(scores))]
