"""Networks whose forecasts miss the points that were seen, moved towards them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from lupi._machinery.factors import factors_of
from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, Prediction

LEVEL = 0.5
"""Of the variance of what a trajectory lacks: the share that is the same at all times."""

LEAST_NOISE = 1e-4
"""Of that variance, for float32."""


class Correction(eqx.Module):
    """What trajectories lack, known at the points that were seen and less so the farther from them.

    A Gaussian process around the trajectory of each sample: a level and a course (Matérn 3/2), seen
    with the noise that the predictor itself expects. A network cannot go where no training series
    was; its trajectory, moved, can. And it is known better near the points than far from them.
    """

    amplitude: Float[AnyArray, ""]
    """The standard deviation of what is lacking."""
    length: Float[AnyArray, ""]
    """Over which the course changes."""

    @classmethod
    def of(cls, amplitude: float, length: float) -> "Correction":
        """With these numbers."""
        return cls(np.array(amplitude, np.float32), np.array(length, np.float32))

    def moved(
        self,
        means: Float[AnyArray, "sample both observation"],
        scales: Float[AnyArray, "sample both observation"],
        context: Observations,
        times: Float[AnyArray, " time"],
    ) -> tuple[Float[Array, "sample time observation"], Float[Array, "sample time observation"]]:
        """Trajectories and scales at these times, given there and then at the points seen."""
        number = len(times)
        known = jnp.broadcast_to(context.known, context.ys.shape)
        lacking = jnp.where(known, context.ys - means[:, number:], 0.0)
        noise = jnp.mean(jnp.square(scales[:, number:]), axis=0)
        of_column = jax.vmap(self._weights, (None, None, 1, 1), (2, 1))
        weights, left = of_column(times, context.ts, known, noise)
        return (
            means[:, :number] + jnp.einsum("tpo,spo->sto", weights, lacking),
            jnp.sqrt(jnp.square(scales[:, :number]) + left),
        )

    def _weights(
        self,
        times: Float[AnyArray, " time"],
        points: Float[AnyArray, " point"],
        known: Bool[AnyArray, " point"],
        noise: Float[Array, " point"],
    ) -> tuple[Float[Array, "time point"], Float[Array, " time"]]:
        """At each time, how much of what each point lacks; and the variance that is left."""
        from tinygp import kernels

        variance = jnp.square(self.amplitude)
        kernel = variance * (LEVEL + (1 - LEVEL) * kernels.Matern32(self.length))
        times, points = jnp.asarray(times), jnp.asarray(points)
        covariance = jnp.where(known & known[:, None], kernel(points, points), 0.0)
        diagonal = jnp.where(known, noise + LEAST_NOISE * variance, variance)
        _, inverse = factors_of(covariance + jnp.diag(diagonal))
        shared = jnp.where(known, kernel(times, points), 0.0)
        half = shared @ inverse.T
        return half @ inverse, jnp.maximum(variance - jnp.sum(half**2, axis=1), 0.0)


class Corrected(AbstractPredictor):
    """A predictor whose trajectories are moved towards the points that were seen."""

    predictor: AbstractPredictor
    correction: Correction

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.predictor.observation_size

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
        """Predict at the points too, and move what is predicted at the times."""
        how: dict[str, Any] = {"num_samples": num_samples, "horizon": horizon, "key": key}
        if privileged is not None:
            how["privileged"] = privileged
        times = jnp.asarray(times)
        points = jnp.where(context.mask, context.ts, 0.0)
        found = self.predictor.predict(context, jnp.concatenate([times, points]), **how)
        means, scales = self.correction.moved(found.means, found.scales, context, times)
        return Prediction(times, means, scales, found.key, found.findings)
