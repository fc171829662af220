"""How much of a blend each part has, by what a context shows."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int

from lupi.distributions import AbstractNormalMixture, AnyArray

LEAST_WEIGHT = 0.03
"""Of a part that is asked: less of a bad one costs more than it tells."""

POWER = 4.0
"""Before series say more, a part has as much as this power of one over its score."""

LOOSE = 0.1
"""How strongly weights are held there: as a penalty beside one term for each series, so that even a
few overcome it."""

COMPONENTS = 16
"""Of a mixture that are compared with those of others."""

LEAST = 1e-6


class Share(eqx.Module):
    """Of one part: the logarithm, up to what all parts have in common, of its weight."""

    coefficients: Float[AnyArray, " 3"]

    @classmethod
    def constant(cls, weight: float) -> "Share":
        """Whatever the context."""
        return cls(np.array([np.log(max(weight, LEAST)), 0.0, 0.0], np.float32))


def context_features(seen, last, xp: Any = np):
    """Of a weight: one, the logarithm of how many points were seen, and when the last of them."""
    last = xp.asarray(last)
    few = xp.broadcast_to(xp.log1p(xp.asarray(seen)) - np.log(6.0), last.shape)
    return xp.stack([xp.ones_like(last), few, last], axis=-1)


def weights_at(
    coefficients: Float[AnyArray, "part feature"],
    features: Float[AnyArray, "*question feature"],
    xp: Any = np,
) -> Float[AnyArray, "*question part"]:
    """Of each part; 0 of those that would have next to nothing."""
    logs = xp.asarray(features) @ xp.asarray(coefficients).T
    weights = xp.exp(logs - xp.max(logs, axis=-1, keepdims=True))
    weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    # The best of very many parts may have less.
    weights = xp.where(weights >= min(LEAST_WEIGHT, 1 / len(coefficients)), weights, 0.0)
    return weights / xp.sum(weights, axis=-1, keepdims=True)


class Scores(eqx.Module):
    """What the CRPS of any blend w is made of: w @ errors - w @ distances @ w / 2."""

    errors: Float[np.ndarray, "question part"]
    """Mean distances from what was observed."""
    distances: Float[np.ndarray, "question part part"]
    """Mean distances between what two parts say."""

    @classmethod
    def of(
        cls,
        parts: Sequence[AbstractNormalMixture],
        values: Float[np.ndarray, "question time observed"],
        weights: Float[np.ndarray, "question time observed"],
    ) -> "Scores":
        """Sums over the values of each question, by the weight of each; NaN is none."""
        question, time, column = np.nonzero(~np.isnan(values))

        def some(array):
            array = np.asarray(array, np.float32)  # in half the time
            step = max(1, array.shape[1] // COMPONENTS)
            return array[question, ::step, time, column]

        means, scales = ([some(getattr(p, n)) for p in parts] for n in ("means", "scales"))
        truth = values[question, time, column].astype(np.float32)
        share = weights[question, time, column]

        def total(distances):
            return np.bincount(question, share * distances, minlength=len(values))

        number = len(parts)
        errors = np.zeros((len(values), number))
        distances = np.zeros((len(values), number, number))
        for i in range(number):
            errors[:, i] = total(_distance(means[i] - truth[:, None], scales[i]).mean(axis=1))
            for j in range(i + 1):
                apart = means[i][:, :, None] - means[j][:, None]
                spread = np.hypot(scales[i][:, :, None], scales[j][:, None])
                both = total(_distance(apart, spread).mean(axis=(1, 2)))
                distances[:, i, j] = distances[:, j, i] = both
        return cls(errors, distances)


def _distance(means, scales):
    """The mean distance of Normal numbers from 0."""
    from scipy.special import ndtr

    ratio = means / scales
    density = np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi)
    return 2 * scales * density + means * (2 * ndtr(ratio) - 1)


def fit_shares(
    scores: Scores,
    features: Float[np.ndarray, "question feature"],
    series: Int[np.ndarray, " question"],
) -> list[Share]:
    """Those whose blend scores best (the CRPS) on questions of series, each of which counts as one.

    Few series say little: before they do, parts are weighed by how each scores alone.
    """
    from scipy.optimize import minimize

    number = scores.errors.shape[1]
    alone = (scores.errors - 0.5 * np.einsum("qii->qi", scores.distances)).sum(axis=0)
    alone = np.maximum(alone, LEAST)
    unit = alone.min() / (series.max() + 1)
    begin = np.zeros((number, features.shape[1]))
    begin[:, 0] = -POWER * np.log(alone / alone.min())

    def loss(flat):
        coefficients = flat.reshape(begin.shape)
        logs = features @ coefficients.T
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        between = np.einsum("qij,qj->qi", scores.distances, weights)
        value = np.sum(weights * (scores.errors - 0.5 * between)) / unit
        slopes = (scores.errors - between) / unit
        slopes = weights * (slopes - np.sum(weights * slopes, axis=1, keepdims=True))
        moved = coefficients - begin
        slope = slopes.T @ features + 2 * LOOSE * moved
        return value + LOOSE * np.sum(moved**2), slope.ravel()

    found = minimize(loss, begin.ravel(), jac=True, method="L-BFGS-B").x.reshape(begin.shape)
    return [Share(row.astype(np.float32)) for row in found]
