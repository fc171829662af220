"""Intervals as wide as series that were not trained on call for."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lupi.data.observations import Observations
from lupi.distributions import AbstractNormalMixture, AnyArray
from lupi.models import Prediction

WIDTHS = 64
"""Samples over which the uncertainty of the width itself is spread."""

LARGEST = 24.0
"""Standard scores beyond which it does not count how far out a value is."""

SOON = 0.1
"""In spans of the training data: how far from what was seen it is another matter."""

FIRM = 1.0
"""How strongly differences between near and far, and between few points and many, are held back:
as a penalty beside one term for each series, so that many series overcome it."""

NUM_FEATURES = 5
"""Of which the logarithm of a factor is a sum: see `features`."""


class Calibration(eqx.Module):
    """A factor on the width of a prediction: of few points or many, near what was seen or far,
    after it or before.

    Where few series told it, its own uncertainty is part of the prediction: as in Student's
    distribution, each sample has a width of its own.
    """

    coefficients: Float[AnyArray, " feature"]
    """Of the logarithm of the factor."""
    widths: Float[AnyArray, " width"]
    """Of the samples, relative to each other."""

    @classmethod
    def none(cls) -> "Calibration":
        """Which changes nothing."""
        return cls(np.zeros(NUM_FEATURES, np.float32), np.ones(WIDTHS, np.float32))

    def factors(
        self, context: Observations, times: Float[AnyArray, " time"]
    ) -> Float[Array, " time"]:
        """At each of the times."""
        seen = jnp.sum(context.mask)
        beyond, before = distances(context.ts, context.mask, jnp.asarray(times), jnp)
        return self.factors_of(features(seen, beyond, before, jnp), jnp)

    def factors_of(self, features: Float[AnyArray, "*place feature"], xp: Any = np):
        """Those that such features call for."""
        # A file from before there were as many has the first of them.
        return xp.exp(features[..., : len(self.coefficients)] @ self.coefficients)

    def __call__(self, prediction: Prediction, context: Observations) -> Prediction:
        """The prediction, as wide as it should be."""
        factors = self.factors(context, prediction.ts)
        means, scales = self.widened(prediction.means, prediction.scales, factors)
        return Prediction(prediction.ts, means, scales, prediction.key, prediction.findings)

    def widened(self, means, scales, factors, xp: Any = jnp):
        """Means and scales of samples, as much farther apart and larger as the factors say."""
        of_samples = xp.asarray(self.widths)[np.arange(means.shape[-3]) % WIDTHS]
        widths = of_samples[:, None, None] * factors[..., None, :, None]
        centre = xp.mean(means, axis=-3, keepdims=True)
        return centre + widths * (means - centre), widths * scales


def distances(ts, mask, times, xp: Any = np):
    """How far times lie beyond the last point that was seen, and before the first; of none seen,
    beyond 0."""
    last = xp.max(xp.where(mask, ts, 0.0), axis=-1, initial=0.0)
    first = xp.min(xp.where(mask, ts, xp.inf), axis=-1, initial=xp.inf)
    first = xp.where(xp.isfinite(first), first, 0.0)
    return xp.maximum(times - last[..., None], 0.0), xp.maximum(first[..., None] - times, 0.0)


def features(seen, beyond, before: Any = 0.0, xp: Any = np):
    """Of the factor: one, the logarithm of how many points were seen, how far beyond, and whether
    it is after what was seen, or before it, at all."""
    beyond = xp.asarray(beyond)
    few = xp.log1p(xp.asarray(seen)) - np.log(6.0)
    parts = [
        xp.ones_like(beyond),
        few,
        xp.minimum(beyond, 1.0),
        1 - xp.exp(-beyond / SOON),
        1 - xp.exp(-xp.asarray(before) / SOON),
    ]
    return xp.stack([xp.broadcast_to(part, beyond.shape) for part in parts], axis=-1)


def standard_scores(
    mixture: AbstractNormalMixture, values: Float[np.ndarray, "*series time observed"]
) -> Float[np.ndarray, "*series time observed"]:
    """How far each value lies from the middle, as that of a Normal distribution would."""
    from scipy.special import ndtri

    below = np.asarray(mixture.probability_below(values), float)
    middle = ndtri(np.clip(below, 1e-6, 1 - 1e-6))
    # Where the probability says no more, the distance in standard deviations does.
    far = (values - np.asarray(mixture.mean, float)) / np.asarray(mixture.std, float)
    return np.where(np.abs(middle) > 4, np.sign(middle) * np.maximum(np.abs(far), 4.0), middle)


def fit_calibration(
    scores: Float[np.ndarray, " value"],
    seen: Float[np.ndarray, " value"],
    beyond: Float[np.ndarray, " value"],
    before: Float[np.ndarray, " value"],
    series: Int[np.ndarray, " value"],
    *,
    certain: bool,
) -> Calibration:
    """From standard scores of values that were not trained on, and the series each belongs to.

    Every series counts as much as any other, since the values of one are alike. `certain` leaves
    out the uncertainty of the width.
    """
    from scipy.optimize import minimize
    from scipy.stats import chi2

    _, series = np.unique(series, return_inverse=True)
    number = int(series.max()) + 1
    weights = (1 / np.bincount(series))[series]
    x = features(seen, beyond, before)
    apart = np.minimum(np.abs(scores), LARGEST)
    squares = apart**2

    def loss(coefficients):
        log_factors = x @ coefficients
        # Student's density, with tails that let a few values be far out.
        spread = np.log1p(squares / (5.0 * np.exp(2 * log_factors)))
        value = weights @ (log_factors + 3.0 * spread)
        return value + FIRM * coefficients[1:] @ coefficients[1:]

    coefficients = minimize(loss, np.zeros(x.shape[1])).x
    scaled = apart * np.exp(-x @ coefficients)
    coefficients[0] += np.log(_weighted_quantile(scaled, weights, 0.9) / 1.6449)
    # Student's distribution, made of Normals whose variances scatter as chi-square has it.
    freedom = max(2.0, number - 1.0)
    levels = (np.arange(WIDTHS) + 0.5) / WIDTHS
    widths = np.ones(WIDTHS) if certain else np.sqrt(freedom / chi2.ppf(levels, freedom))
    widths = np.random.default_rng(0).permutation(widths)
    return Calibration(coefficients.astype(np.float32), widths.astype(np.float32))


def _weighted_quantile(values, weights, level: float) -> float:
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(np.searchsorted(share, level), len(values) - 1)])
