"""Networks whose forecasts miss the points that were seen, brought closer to them."""

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


class Correction(eqx.Module):
    """What the trajectory of each sample lacks at the points that were seen, as a smooth course.

    The mean of a Gaussian process of these differences: a level and a course around it (Matérn
    3/2), with noise. A network cannot go where no training series was; its trajectory, moved, can.
    """

    ratio: Float[AnyArray, ""]
    """Of the variance of what is lacking to that of the noise: the larger, the closer trajectories
    are brought to the points."""
    length: Float[AnyArray, ""]
    """Over which the course changes."""

    @classmethod
    def of(cls, ratio: float, length: float) -> "Correction":
        """With these numbers."""
        return cls(np.array(ratio, np.float32), np.array(length, np.float32))

    def moved(
        self,
        means: Float[AnyArray, "sample both observation"],
        context: Observations,
        times: Float[AnyArray, " time"],
    ) -> Float[Array, "sample time observation"]:
        """Trajectories at these times, given there and then at the points that were seen."""
        at_times, at_points = means[:, : len(times)], means[:, len(times) :]
        known = jnp.broadcast_to(context.known, context.ys.shape)
        lacking = jnp.where(known, context.ys - at_points, 0.0)
        weights = jax.vmap(self._weights, (None, None, 1), 2)(times, context.ts, known)
        return at_times + jnp.einsum("tpo,spo->sto", weights, lacking)

    def _weights(
        self,
        times: Float[AnyArray, " time"],
        points: Float[AnyArray, " point"],
        known: Bool[AnyArray, " point"],
    ) -> Float[Array, "time point"]:
        """What is lacking at each time, of what is at each point."""
        from tinygp import kernels

        kernel = kernels.Constant(LEVEL) + (1 - LEVEL) * kernels.Matern32(self.length)
        times, points = jnp.asarray(times), jnp.asarray(points)
        covariance = jnp.where(known & known[:, None], kernel(points, points), 0.0)
        _, inverse = factors_of(covariance + jnp.eye(len(points)) / self.ratio)
        return jnp.where(known, kernel(times, points), 0.0) @ inverse.T @ inverse


class Corrected(AbstractPredictor):
    """A predictor whose trajectories are brought closer to the points that were seen."""

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
        means = self.correction.moved(found.means, context, times)
        return Prediction(times, means, found.scales[:, : len(times)], found.key, found.findings)
