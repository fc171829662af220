"""The plainest predictor: what the training systems do on average."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.distributions import AnyArray
from lupi.models.prediction import Prediction
from lupi.models.predictor import AbstractPredictor

SMALLEST_STD = 1e-6
"""Where all training systems agree, such as at the beginning."""


class MeanTrajectory(AbstractPredictor):
    """The mean of the training systems at each time and their scatter, whatever was observed.

    What a model scores that cannot tell systems apart: the floor of every comparison. Between the
    times of its grid it goes in straight lines.
    """

    ts: Float[AnyArray, " grid"]
    mean: Float[AnyArray, "grid observation"]
    std: Float[AnyArray, "grid observation"]

    @classmethod
    def of(cls, tasks: Task) -> "MeanTrajectory":
        """Of training systems that were all observed at the same times, without gaps."""
        seen = tasks.observations
        mean, std = seen.ys.mean(axis=0), np.maximum(seen.ys.std(axis=0), SMALLEST_STD)
        return cls(ts=seen.ts[0], mean=mean, std=std)  # pyright: ignore[reportCallIssue]

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

        def at_times(values):
            columns = [jnp.interp(times, self.ts, column) for column in values.T]
            return jnp.stack(columns, axis=-1)[None]

        return Prediction(jnp.asarray(times), at_times(self.mean), at_times(self.std), key)
