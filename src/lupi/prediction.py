"""From a few observations to a distribution over the whole trajectory."""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.compilation import compiled
from lupi.data import Observations
from lupi.distributions import Normal
from lupi.errors import UserError
from lupi.models import NeuralODEProcess

if TYPE_CHECKING:
    from numpyro.distributions import MixtureSameFamily

QUANTILE_STEPS = 40
"""Halvings of the bracket around a quantile: its error is then below float32's resolution."""

SMALLEST_CONTEXT, SMALLEST_TIMES, SMALLEST_SAMPLES = 16, 128, 64
"""Sizes that `predict` computes at least; from there on it goes in powers of two."""


SAMPLES_AT_ONCE = 256
"""Samples of z decoded in one batch: all of thousands at once would take a third longer each."""


class Prediction(eqx.Module):
    """What is predicted at each time, as one decoded Normal for every sample of z.

    Two predictive distributions are made of them:

    - `of_means`, the paper's: a Normal with the mean and the standard deviation of the decoded
      means over the samples of z. It leaves out the decoder's own uncertainty.
    - `full`: the mixture, over the samples of z, of the decoded Normals.

    Both have the same mean. `std`, `samples`, `quantiles` and `interval` speak of `full`. Arrays
    may have leading axes, over tasks.
    """

    ts: Float[Array, "*task time"]
    decoded_means: Float[Array, "*task sample time observation"]
    decoded_scales: Float[Array, "*task sample time observation"]
    samples: Float[Array, "*task sample time observation"]
    """One noisy trajectory for every sample of z: draws from the full distribution."""

    @property
    def mean(self) -> Float[Array, "*task time observation"]:
        """The mean of either distribution."""
        return self.decoded_means.mean(axis=-3)

    @property
    def std(self) -> Float[Array, "*task time observation"]:
        """The standard deviation of the full distribution."""
        variance = self.decoded_means.var(axis=-3) + (self.decoded_scales**2).mean(axis=-3)
        return jnp.sqrt(variance)

    @property
    def std_of_means(self) -> Float[Array, "*task time observation"]:
        """The standard deviation of the paper's distribution."""
        return self.decoded_means.std(axis=-3, ddof=1)

    @property
    def of_means(self) -> Normal:
        """The paper's predictive distribution (needs at least two samples of z)."""
        return Normal(self.mean, self.std_of_means)

    @property
    def full(self) -> "MixtureSameFamily":
        """The full predictive distribution, as one of numpyro's."""
        from numpyro.distributions import Categorical, MixtureSameFamily, Normal

        means = jnp.moveaxis(self.decoded_means, -3, -1)
        scales = jnp.moveaxis(self.decoded_scales, -3, -1)
        weights = jnp.full(means.shape[-1], 1 / means.shape[-1])
        return MixtureSameFamily(Categorical(probs=weights), Normal(means, scales))

    def quantiles(
        self, levels: Float[Array, " level"]
    ) -> Float[Array, "level *task time observation"]:
        """The values below which the full distribution puts each share of its mass."""
        return jax.device_put(mixture_quantiles(self.decoded_means, self.decoded_scales, levels))

    def interval(
        self, *, coverage: float
    ) -> tuple[Float[Array, "*task time observation"], Float[Array, "*task time observation"]]:
        """The lower and the upper end of the central interval with this share of the mass."""
        if not 0 < coverage < 1:
            raise UserError(f"coverage must be between 0 and 1, got {coverage}: try 0.9.")
        lower, upper = self.quantiles(jnp.array([(1 - coverage) / 2, (1 + coverage) / 2]))
        return lower, upper


def predict(
    process: NeuralODEProcess,
    context: Observations,
    times: Float[Array, " time"],
    *,
    num_samples: int = 32,
    key: PRNGKeyArray,
) -> Prediction:
    """Predict the system behind `context` at `times`, in any order, from 0 on.

    Nothing but observations goes in: privileged information has no way here. For many systems at
    once, map over them: `jax.vmap(lambda context, key: predict(process, context, times, key=key))`.
    Where `times` are traced, by jit or vmap, those beyond 1 are solved with longer steps.

    The first call compiles for some seconds, later ones take milliseconds. Points, times and
    samples are padded to the next power of two, at least 16, 128 and 64: only beyond these is
    something compiled again.
    """
    _check_context(process, context)
    if num_samples < 2:
        raise UserError(f"num_samples must be at least 2 to give a spread, got {num_samples}.")
    horizon = _padded_size(_check_times(times), 1)
    some_weights = process.decoder.mlp.layers[-1].bias
    if any(
        isinstance(leaf, Tracer) for leaf in jax.tree.leaves((context, times, key, some_weights))
    ):
        return _predict(process, context, jnp.asarray(times, float), num_samples, horizon, key)
    # Padded to a few sizes, so that another number of points, times or samples compiles nothing;
    # NumPy, because jax.numpy would compile the padding itself for every size.
    num_times = len(times)
    prediction = compiled(_predict, brief=False)(
        process,
        jax.tree.map(lambda leaf: _pad(np.asarray(leaf), SMALLEST_CONTEXT), context),
        _pad(np.asarray(times, np.float32), SMALLEST_TIMES),
        _padded_size(num_samples, SMALLEST_SAMPLES),
        horizon,
        key,
    )
    parts = (prediction.decoded_means, prediction.decoded_scales, prediction.samples)
    parts = [np.asarray(part)[:num_samples, :num_times] for part in parts]
    return Prediction(*jax.device_put((np.asarray(times, np.float32), *parts)))


def _padded_size(size: int, smallest: int) -> int:
    """The next power of two, or `smallest`."""
    return max(smallest, 1 << (size - 1).bit_length())


def _pad(values: np.ndarray, smallest: int) -> np.ndarray:
    padding = _padded_size(len(values), smallest) - len(values)
    return np.concatenate([values, np.zeros((padding, *values.shape[1:]), values.dtype)])


def _predict(process, context, times, num_samples: int, horizon: int, key) -> Prediction:
    latent = process.infer(context)
    return predict_from_latent(
        process, latent, times, num_samples=num_samples, horizon=horizon, key=key
    )


def predict_from_latent(
    process: NeuralODEProcess,
    global_latent: Normal,
    times: Float[Array, " time"],
    *,
    num_samples: int = 32,
    horizon: int = 1,
    key: PRNGKeyArray,
) -> Prediction:
    """Predict from a distribution of z, however it came about; `horizon` as in `decode`.

    A sample is the same whatever the number of samples and of later times.
    """
    latent_key, noise_key = jax.random.split(key)
    zs = global_latent.sample(latent_key, (num_samples,))
    decoded = _map_samples(lambda z: process.decode(z, times, horizon=horizon), zs)
    means, scales = jnp.asarray(decoded.loc), jnp.asarray(decoded.scale)
    noise_keys = jax.vmap(partial(jax.random.fold_in, noise_key))(jnp.arange(num_samples))
    noise = jax.vmap(lambda key: jax.random.normal(key, means.shape[1:]))(noise_keys)
    return Prediction(times, means, scales, means + scales * noise)


def _map_samples(function: Callable, zs: Float[Array, "sample global_latent"]):
    """The function of each sample, no more at once than the processor's cache can hold."""
    if len(zs) <= SAMPLES_AT_ONCE:
        return jax.vmap(function)(zs)
    return jax.lax.map(function, zs, batch_size=SAMPLES_AT_ONCE)


def _check_context(process: NeuralODEProcess, context: Observations) -> None:
    if context.ts.ndim != 1:
        raise UserError(
            f"the context holds {context.ts.shape[0]} systems, predict takes one: map over them "
            "with jax.vmap, or pick one."
        )
    expected = process.observation_encoder.observation_size
    arrived = context.ys.shape[-1]
    if arrived != expected:
        raise UserError(
            f"the context observes {arrived} quantities, the process was built for {expected}: "
            "give the quantities it was trained on, or build another process."
        )
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(context)):
        return  # inside jit or vmap values cannot be looked at
    # NumPy, here and below: jax.numpy would be traced even where its arguments are not.
    if not np.asarray(context.mask).any():
        raise UserError("the context has no real observation: give at least one.")
    if not all(np.isfinite(np.asarray(values)).all() for values in (context.ts, context.ys)):
        raise UserError(
            "the context holds values that are not finite numbers: remove those points, or mask "
            "them and put any number in their place."
        )


def _check_times(times: Float[Array, " time"]) -> int:
    """The horizon of the times: a whole number, none of them beyond it."""
    if isinstance(times, Tracer):
        return 1  # the usual span; the last time is not known here
    values = np.asarray(times)
    if values.size == 0 or not (np.isfinite(values) & (values >= 0)).all():
        raise UserError(
            "times must be one or more finite numbers from 0 on, in the unit the process was "
            "trained in: its trajectories start at time 0."
        )
    return max(1, math.ceil(values.max()))


def mixture_quantiles(
    means: Float[Array | np.ndarray, "*task sample time observation"],
    scales: Float[Array | np.ndarray, "*task sample time observation"],
    levels: Float[Array | np.ndarray, " level"],
) -> Float[np.ndarray, "level *task time observation"]:
    """The quantiles of mixtures, over samples, of Normal distributions."""
    from scipy.special import ndtr  # a fifth of a second that training can do without

    # NumPy: halving is quick, and JAX would compile it for every number of times.
    levels, means, scales = np.asarray(levels), np.asarray(means), np.asarray(scales)
    if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
        raise UserError(f"quantile levels must be a list of numbers between 0 and 1, got {levels}.")
    reach = 8 * scales  # the mass beyond is below 1e-15
    quantiles = []
    for level in levels:
        lower, upper = (means - reach).min(axis=-3), (means + reach).max(axis=-3)
        for _ in range(QUANTILE_STEPS):
            middle = (lower + upper) / 2
            mass = ndtr((np.expand_dims(middle, -3) - means) / scales).mean(axis=-3)
            lower, upper = (
                np.where(mass < level, middle, lower),
                np.where(mass < level, upper, middle),
            )
        quantiles.append((lower + upper) / 2)
    return np.stack(quantiles)
