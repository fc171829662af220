"""A Gaussian process of one series alone, with the kernel that explains its context best."""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.distributions import AnyArray, Normal
from lupi.models import AbstractPredictor, Prediction
from lupi.plain.marginal import log_density
from lupi.plain.posterior import GRID, draw_functions, observed_covariance
from lupi.rivals.kernels import CENTRES, KERNELS, LEAST_NOISE, STARTS, USED, WIDTHS, kernel_of
from lupi.rivals.units import Units

MOST_POINTS = 32
"""From which hyperparameters are learnt; of more points, as many at equal distances."""

BEST_STARTS = 2
"""Of each kernel, from which hyperparameters are looked for."""

STEPS, LEARNING_RATE = 40, 0.15
"""Of Adam, from each of them."""


class SeriesGP(AbstractPredictor):
    """A Gaussian process for each observed quantity of each series, learnt from its context alone.

    Kernel and hyperparameters are those with the largest marginal likelihood of the context, times
    a wide prior without which one or two points would say anything. Of the training systems it
    knows no more than the mean and the standard deviation of each quantity, its units.
    """

    units: Units

    @classmethod
    def of(cls, tasks: Task) -> "SeriesGP":
        """In the units of training systems."""
        return cls(units=Units.of(tasks))  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.units.mean.shape[-1]

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
        ys = jnp.where(known, self.units.to_own(context.ys), 0.0)
        normals = jax.random.normal(key, (num_samples, GRID, ys.shape[-1]))

        def of_column(ys, there, normals):
            kind, logs = choose(context.ts, ys, there)
            kernel, covariance = _seen(kind, logs, context.ts, there)
            how = (kernel, covariance, context.ts, ys, times, normals)
            means = draw_functions(*how, horizon=horizon)
            return means, jnp.broadcast_to(_noise(logs), means.shape)

        means, scales = jax.vmap(of_column, in_axes=(1, 1, 2), out_axes=2)(ys, known, normals)
        return Prediction(times, self.units.to_model(means), self.units.std * scales, key)


def choose(ts, ys, known) -> tuple[Int[Array, ""], Float[Array, " hyperparameter"]]:
    """The kernel and the logarithms of its hyperparameters that explain points best."""
    if len(ts) > MOST_POINTS:
        order = jnp.argsort(jnp.where(known, ts, jnp.inf))
        places = jnp.linspace(0.0, jnp.maximum(known.sum() - 1, MOST_POINTS - 1), MOST_POINTS)
        ts, ys, known = (part[order[places.astype(int)]] for part in (ts, ys, known))
    loss = partial(negative_log_posterior, ts=jnp.asarray(ts), ys=ys, known=known)
    starts = jnp.asarray(STARTS)
    kinds = jnp.broadcast_to(jnp.arange(len(KERNELS))[:, None], starts.shape[:2])
    at_starts = jax.vmap(jax.vmap(loss))(kinds, starts)
    _, best = jax.lax.top_k(-at_starts, BEST_STARTS)
    kinds = kinds[:, :BEST_STARTS].ravel()
    begin = jnp.take_along_axis(starts, best[..., None], axis=1).reshape(len(kinds), -1)
    found = jax.vmap(partial(_descend, loss))(kinds, begin)
    losses = jax.vmap(loss)(kinds, found)
    chosen = jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))
    return kinds[chosen], found[chosen]


def _descend(loss, kind, start):
    adam = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, STEPS))

    def step(state, _):
        logs, memory = state
        slope = jax.grad(loss, argnums=1)(kind, logs)
        # Where rounding leaves no factor of a matrix, there is no way on.
        slope = jnp.where(jnp.isfinite(slope).all(), slope, 0.0)
        update, memory = adam.update(slope, memory)
        return (logs + update, memory), None

    return jax.lax.scan(step, (start, adam.init(start)), length=STEPS)[0][0]


def negative_log_posterior(kind, logs, ts, ys, known) -> Float[Array, ""]:
    """The negative logarithm of the marginal likelihood of points and of the prior."""
    _, covariance = _seen(kind, logs, ts, known)
    likelihood = log_density(covariance, jnp.asarray(ys))
    prior = Normal(jnp.asarray(CENTRES), jnp.asarray(WIDTHS)).log_prob(logs)
    return -likelihood - jnp.where(jnp.asarray(USED)[kind], prior, 0.0).sum()


def _seen(kind, logs, ts, known):
    """The kernel, and the covariance of what is seen."""
    kernel = kernel_of(kind, logs)
    return kernel, observed_covariance(kernel, _noise(logs) ** 2, ts, known)


def _noise(logs):
    """At least so much of the course's scale that float32 can invert matrices."""
    return jnp.exp(logs[3]) + LEAST_NOISE * jnp.exp(logs[1])
