"""Networks and plain guesses, each as far as it has shown its worth."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.blending.calibration import Calibration
from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, Prediction

GOLDEN = 0.6180339887498949


class Blend(AbstractPredictor):
    """A mixture of predictors, each calibrated, and calibrated once more as a whole."""

    parts: tuple[AbstractPredictor, ...]
    """The first is the networks; it alone takes privileged values, and has findings."""
    weights: Float[AnyArray, " part"]
    calibrations: tuple[Calibration, ...]
    whole: Calibration

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.parts[0].observation_size

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        privileged: Float[AnyArray, " privileged"] | None = None,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Samples of each, as many as its weight says, and so of the first few."""
        how: dict[str, Any] = {"num_samples": num_samples, "horizon": horizon, "key": key}
        first = self.parts[0].predict(
            context, times, **how | ({} if privileged is None else {"privileged": privileged})
        )
        predictions = [first, *(part.predict(context, times, **how) for part in self.parts[1:])]
        predictions = [
            calibration(prediction, context)
            for prediction, calibration in zip(predictions, self.calibrations, strict=True)
        ]
        chosen = which_part(jnp.asarray(self.weights), num_samples)

        def mixed(name: str):
            shape = (num_samples, *getattr(first, name).shape[1:])
            parts = [jnp.broadcast_to(getattr(one, name), shape) for one in predictions]
            return jnp.stack(parts)[chosen, jnp.arange(num_samples)]

        blended = Prediction(first.ts, mixed("means"), mixed("scales"), first.key, first.findings)
        return _uncertain_beyond(self.whole(blended, context))


def _uncertain_beyond(prediction: Prediction) -> Prediction:
    """The same, the wider the farther beyond the span of the training data: by a standard deviation
    of all values for each span. Nothing was ever seen there."""
    beyond = jnp.maximum(prediction.ts - 1.0, 0.0)[:, None]
    scales = jnp.sqrt(prediction.scales**2 + beyond**2)
    return Prediction(prediction.ts, prediction.means, scales, prediction.key, prediction.findings)


def which_part(weights, num_samples: int):
    """Of each sample the part it comes from; of every few of them about as many as they should."""
    places = (np.arange(num_samples) * GOLDEN + 0.5) % 1.0
    ends = jnp.cumsum(weights) / jnp.sum(weights)
    return jnp.clip(jnp.searchsorted(ends, places, side="right"), 0, len(weights) - 1)


def fit_weights(
    log_densities: Float[np.ndarray, "part value"],
    weights_of_values: Float[np.ndarray, " value"],
    *,
    prior: float = 1.0,
) -> Float[np.ndarray, " part"]:
    """The mixture of parts that explains values best (stacking), by expectation-maximisation.

    `prior` is the number of series that speak for all parts alike.
    """
    number = len(log_densities)
    densities = np.exp(np.maximum(log_densities - log_densities.max(axis=0), -50.0))
    weights = np.full(number, 1 / number)
    for _ in range(500):
        shares = weights[:, None] * densities
        shares /= shares.sum(axis=0)
        counts = shares @ weights_of_values + prior / number
        weights = counts / counts.sum()
    return weights
