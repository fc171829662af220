"""A Normal forecast as few Normals without holes between them."""

import jax.numpy as jnp
from jaxtyping import Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, Prediction

SHARE = 0.25
"""Of the variance between the functions, what each Normal gets of its own."""


class Filled(AbstractPredictor):
    """A Gaussian process whose forecast has the density that it should have.

    Drawn functions have the width of the noise each. Where there is next to none, a few of them are
    needles, and the density of what lies between is 0, though the posterior is Normal. Mean and
    standard deviation of the forecast stay what they are; `spread` is narrower by an eighth.
    """

    predictor: AbstractPredictor

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.predictor.observation_size

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """The same Normals, nearer to each other and wider."""
        found = self.predictor.predict(
            context, times, num_samples=num_samples, horizon=horizon, key=key
        )
        variance = jnp.var(jnp.asarray(found.means), axis=0)
        means = found.mean + jnp.sqrt(1 - SHARE) * (found.means - found.mean)
        scales = jnp.sqrt(jnp.square(found.scales) + SHARE * variance)
        return Prediction(found.ts, means, scales, found.key)
