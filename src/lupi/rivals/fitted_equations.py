"""The true equations, fitted to a context: what one does who knows the law but not the family."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.ideal import IdealObserver
from lupi.ideal.importance import pick, tempered
from lupi.ideal.laplace import around_modes
from lupi.ideal.solutions import observed
from lupi.models import AbstractPredictor, Prediction

STARTS = 32
"""Of the search for parameters."""


class FittedEquations(AbstractPredictor):
    """Parameters by maximum likelihood, from several starts, and Normal around the best of them.

    It knows the equations and the noise as the ideal observer does, but of the distribution of the
    parameters only where its ends and its middle are: it looks for them between, and from nothing
    takes the middle. The least squares are found from the members of the observer's bank that suit
    the context and by Levenberg and Marquardt's method; the covariance around them is Gauss and
    Newton's, and as wide as the family where the context says nothing. What has a second mode, or
    another shape than a Normal, is beyond it.
    """

    observer: IdealObserver

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.observer.observation_size

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """One Normal for each of `num_samples` members around the fitted one, and noise."""
        observer = self.observer
        start_key, point_key, noise_key = jax.random.split(key, 3)
        centre, root = self.fit(context, key=start_key)
        normals = jax.random.normal(point_key, (num_samples, len(centre)))
        points = jnp.clip(centre + normals @ root.T, *self._ends())

        def of_point(point):
            sizes = {"steps": observer.steps, "horizon": horizon}
            return observed(observer.member(point), times, time_unit=observer.time_unit, **sizes)

        means = (jax.vmap(of_point)(points) - observer.observed_mean) / observer.observed_scale
        scales = jnp.broadcast_to(observer.noise / observer.observed_scale, means.shape)
        return Prediction(jnp.asarray(times), means, scales, noise_key)

    def fit(
        self, context: Observations, *, key: PRNGKeyArray
    ) -> tuple[Float[Array, " parameter"], Float[Array, "parameter parameter"]]:
        """The fitted parameters, in the observer's units, and a root of their covariance."""
        ts = jnp.where(context.mask, context.ts, 0.0)
        context = Observations(ts, context.ys, context.mask, context.gaps)
        bank = jnp.asarray(self.observer.points)
        likelihoods = self.observer.log_likelihoods_of_bank(context)
        weights = tempered(jnp.zeros_like(likelihoods), likelihoods, STARTS)
        starts = bank[pick(weights, STARTS - 1, key=key)]
        starts = jnp.concatenate([jnp.zeros((1, bank.shape[-1])), starts])
        residuals = partial(self.observer.residuals, context)
        modes = around_modes(residuals, starts, *self._ends())
        costs = (jax.vmap(residuals)(modes.centres) ** 2).sum(axis=-1)
        best = jnp.argmin(jnp.where(jnp.isfinite(costs), costs, jnp.inf))
        return modes.centres[best], modes.roots[best]

    def _ends(self) -> tuple[Float[Array, " parameter"], Float[Array, " parameter"]]:
        points = jnp.asarray(self.observer.points)
        return points.min(axis=0), points.max(axis=0)
