"""The plainest predictor: what the training systems do on average."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.distributions import AnyArray
from lupi.errors import UserError
from lupi.models.prediction import Prediction
from lupi.models.predictor import AbstractPredictor

SMALLEST_STD = 1e-6
"""Where all training systems agree, such as at the beginning."""

MOST_TIMES = 1000
"""Of the grid of systems with times of their own; of more than these, as many evenly spaced."""


class MeanTrajectory(AbstractPredictor):
    """The mean of the training systems at each time and their scatter, whatever was observed.

    What a model scores that cannot tell systems apart: the floor of every comparison. Between the
    times of its grid it goes in straight lines, and so does each training system between its own
    observations.
    """

    ts: Float[AnyArray, " grid"]
    mean: Float[AnyArray, "grid observation"]
    std: Float[AnyArray, "grid observation"]

    @classmethod
    def of(cls, tasks: Task) -> "MeanTrajectory":
        """Of training systems, at each time of those that were observed before it and after it.

        Observed at the same times without gaps, they need no straight lines.
        """
        seen = tasks.observations
        ts, ys = np.asarray(seen.ts), np.asarray(seen.ys)
        known = np.broadcast_to(np.asarray(seen.known), ys.shape)
        if known.all() and (ts == ts[0]).all():
            grid, mean, std = seen.ts[0], seen.ys.mean(axis=0), seen.ys.std(axis=0)
            if len(tasks) == 1:
                std = np.broadcast_to(seen.ys.std(axis=(0, 1)), std.shape)
        else:
            grid = np.unique(ts[known.any(axis=-1)])
            if len(grid) > MOST_TIMES:
                grid = np.linspace(grid[0], grid[-1], MOST_TIMES, dtype=grid.dtype)
            columns = [_moments(grid, ts, ys[..., j], known[..., j]) for j in range(ys.shape[-1])]
            mean, std = np.stack(columns, axis=-1).astype(ys.dtype)
        return cls(ts=grid, mean=mean, std=np.maximum(std, SMALLEST_STD))  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.mean.shape[-1]

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """One Normal at each time; beyond the grid that of its end."""
        scales = self._between(self.std, times)
        return Prediction(jnp.asarray(times), self.at(times)[None], scales[None], key)

    def at(self, times: Float[AnyArray, " time"]) -> Float[Array, "time observation"]:
        """The mean at these times."""
        return self._between(self.mean, times)

    def _between(self, values, times):
        columns = [jnp.interp(times, self.ts, column) for column in values.T]
        return jnp.stack(columns, axis=-1)


def _moments(
    grid: Float[np.ndarray, " grid"],
    ts: Float[np.ndarray, "task time"],
    ys: Float[np.ndarray, "task time"],
    known: Bool[np.ndarray, "task time"],
) -> Float[np.ndarray, "2 grid"]:
    """Mean and standard deviation, over the systems that reach it, at each time of the grid.

    Times that none reaches, or one alone for the deviation, have it from those around them; where
    no time is reached by two systems, it is that of all values.
    """
    number, mean, squares = np.zeros((3, len(grid)))
    for times, values, there in zip(ts, ys, known, strict=True):
        if not there.any():
            continue
        order = np.argsort(times[there])
        times, values = times[there][order], values[there][order]
        found = np.interp(grid, times, values, left=np.nan, right=np.nan)
        reached = ~np.isnan(found)
        # Welford's update, so that not all systems are held on the grid at once.
        number[reached] += 1
        step = found[reached] - mean[reached]
        mean[reached] += step / number[reached]
        squares[reached] += step * (found[reached] - mean[reached])
    if not number.any():
        raise UserError(
            "one of the observed quantities has no value in all of the systems: leave it out."
        )
    std = np.sqrt(squares / np.maximum(number, 1))
    several = number >= 2
    if not several.any():
        std, several = np.full(len(grid), ys[known].std()), number > 0
    return np.stack(
        [
            np.interp(grid, grid[there], values[there])
            for there, values in ((number > 0, mean), (several, std))
        ]
    )
