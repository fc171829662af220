"""Networks and plain guesses, each as far as it has shown its worth."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.blending.calibration import Calibration
from lupi.blending.shares import Share, context_features, weights_at
from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, Prediction

GOLDEN = 0.6180339887498949


class Blend(AbstractPredictor):
    """A mixture of predictors, each calibrated, and calibrated once more as a whole."""

    parts: tuple[AbstractPredictor, ...]
    """The first is the networks; it alone takes privileged values, and has findings."""
    shares: tuple[Share, ...]
    calibrations: tuple[Calibration, ...]
    whole: Calibration

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.parts[0].observation_size

    def weights(self, context: Observations) -> Float[Array, " part"]:
        """Of the parts, by what the context shows."""
        last = jnp.max(jnp.where(context.mask, context.ts, 0.0), initial=0.0)
        features = context_features(jnp.sum(context.mask), last, jnp)
        coefficients = jnp.stack([jnp.asarray(one.coefficients) for one in self.shares])
        return weights_at(coefficients, features, jnp)

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
        chosen = which_part(self.weights(context), num_samples)

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


def which_part(weights, num_samples: int, xp: Any = jnp):
    """Of each sample the part it comes from; of every few of them about as many as they should."""
    places = (np.arange(num_samples) * GOLDEN + 0.5) % 1.0
    ends = xp.cumsum(weights, axis=-1) / xp.sum(weights, axis=-1, keepdims=True)
    # The last end may be rounded to less than 1.
    return xp.sum(places[:, None] >= ends[..., None, :-1], axis=-1)
