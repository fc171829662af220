"""What a statistician would do: the mean trajectory, and a Gaussian process around it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from lupi._machinery.compilation import compiled, padded_size
from lupi.data.observations import Observations, Task
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, MeanTrajectory, Prediction
from lupi.plain.marginal import log_density
from lupi.plain.posterior import GRID, draw_functions, observed_covariance

MOST_SERIES, MOST_POINTS = 64, 48
"""From which the hyperparameters are learnt."""

FEWEST_POINTS = 16
"""For which there is room."""

LEAST_NOISE = 1e-3


class PooledGP(AbstractPredictor):
    """A Gaussian process around the mean trajectory, with hyperparameters that all systems share.

    Of each observed quantity on its own: a level that differs between systems, a smooth course
    around it (Matérn 5/2), and noise.
    """

    mean: MeanTrajectory
    logs: Float[AnyArray, "observation 4"]
    """Logarithms of the scale of the level, of the scale and the length of the course, and of the
    noise."""

    @classmethod
    def of(cls, tasks: Task) -> "PooledGP":
        """Of training systems, by their marginal likelihood."""
        from scipy.optimize import minimize

        mean = MeanTrajectory.of(tasks)
        ts, residuals, known = _some_points(tasks, mean)
        value_and_slope = compiled(_value_and_slope, brief=False)
        found = []
        for j in range(residuals.shape[-1]):
            data = (ts, residuals[..., j], known[..., j])

            def loss(logs, data=data):
                value, slope = value_and_slope(np.asarray(logs, np.float32), *data)
                return float(value), np.asarray(slope, float)

            start = np.log([0.5, 0.5, 0.3, 0.2])
            bounds = [(-5.0, 2.0), (-5.0, 2.0), (-3.5, 1.5), (np.log(LEAST_NOISE), 1.0)]
            found.append(minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x)
        return cls(mean=mean, logs=np.array(found, np.float32))  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.mean.observation_size

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Functions drawn from the posterior, whose mean and scatter at each time are its own."""
        times = jnp.asarray(times)
        known = jnp.broadcast_to(context.known, context.ys.shape)
        residuals = context.ys - self.mean.at(context.ts)
        normals = jax.random.normal(key, (num_samples, GRID, residuals.shape[-1]))

        def of_column(logs, ys, there, normals):
            kernel, ys = _kernel(logs), jnp.where(there, ys, 0.0)
            covariance = observed_covariance(kernel, jnp.exp(2 * logs[3]), context.ts, there)
            how = (kernel, covariance, context.ts, ys, times, normals)
            means = draw_functions(*how, horizon=horizon)
            return means, jnp.broadcast_to(jnp.exp(logs[3]), means.shape)

        means, scales = jax.vmap(of_column, in_axes=(0, 1, 1, 2), out_axes=2)(
            jnp.asarray(self.logs), residuals, known, normals
        )
        return Prediction(times, self.mean.at(times) + means, scales, key)


def _kernel(logs: Float[Array, " 4"]):
    from tinygp import kernels

    level, course, length, _ = jnp.exp(logs)
    return kernels.Constant(level**2) + course**2 * kernels.Matern52(length)


def _value_and_slope(logs, ts, residuals, known):
    def loss(logs):
        def one(ts, ys, there):
            covariance = observed_covariance(_kernel(logs), jnp.exp(2 * logs[3]), ts, there)
            return log_density(covariance, jnp.where(there, ys, 0.0))

        return -jnp.sum(jax.vmap(one)(ts, residuals, known)) / jnp.sum(known)

    return jax.value_and_grad(loss)(logs)


def _some_points(tasks: Task, mean: MeanTrajectory):
    """Bounded numbers of systems and of points of each, as they differ from the mean."""
    rng = np.random.default_rng(0)
    seen = tasks.observations
    known = np.broadcast_to(np.asarray(seen.known), np.shape(seen.ys))
    chosen = rng.permutation(len(tasks))[:MOST_SERIES]
    room = min(MOST_POINTS, np.shape(seen.ts)[1])
    # Real points first, in a random order.
    place = np.where(np.asarray(seen.mask)[chosen], rng.random(np.shape(seen.ts))[chosen], 2.0)
    points = np.argsort(place, axis=1)[:, :room]
    ts, ys, there = (
        np.asarray(part)[chosen[:, None], points] for part in (seen.ts, seen.ys, known)
    )
    expected = np.asarray(compiled(_means_at, brief=True)(mean, ts))
    # Of few sizes, so that little is compiled; time goes with the cube of the number of points.
    wanted = min(MOST_POINTS, padded_size(room, FEWEST_POINTS))
    lacking = ((0, MOST_SERIES - len(chosen)), (0, wanted - room))
    return (
        np.pad(ts, lacking),
        np.pad(ys - expected, (*lacking, (0, 0))),
        np.pad(there, (*lacking, (0, 0))),
    )


def _means_at(mean: MeanTrajectory, ts):
    return jax.vmap(partial(MeanTrajectory.at, mean))(ts)
