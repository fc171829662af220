"""How much of a blend each part has: by what a context shows, and by the time asked for."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from lupi.blending.calibration import distances, few_points, soon
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

NUM_FEATURES = 6
"""Of which the logarithm of a weight is a sum: see `share_features`."""

NUM_FEATURES_ONCE = 3
"""The first of them, which files have from before weights followed the time."""


class Share(eqx.Module):
    """Of one part: the logarithm, up to what all parts have in common, of its weight."""

    coefficients: Float[AnyArray, " weight"]
    """Of its features, or of the first of them."""

    @classmethod
    def constant(cls, weight: float) -> "Share":
        """Whatever the context, and the time."""
        return cls(np.array([np.log(max(weight, LEAST)), *[0.0] * (NUM_FEATURES - 1)], np.float32))


def share_features(ts, mask, times, xp: Any = np):
    """Of a weight, for points at `ts` and a time asked for: one, the logarithm of how many points
    there are, when the last of them is, whether the time is after them, or before them, at all, and
    the time itself, within the span of the training data."""
    times = xp.asarray(times)
    beyond, before = distances(ts, mask, times, xp)
    parts = [
        xp.ones_like(times),
        few_points(xp.sum(mask, axis=-1), xp)[..., None],
        xp.max(xp.where(mask, ts, 0.0), axis=-1, initial=0.0)[..., None],
        soon(beyond, xp),
        soon(before, xp),
        xp.clip(times, 0.0, 1.0),
    ]
    return xp.stack([xp.broadcast_to(part, times.shape) for part in parts], axis=-1)


def weights_at(
    coefficients: Float[AnyArray, "part weight"],
    features: Float[AnyArray, "*place feature"],
    xp: Any = np,
) -> Float[AnyArray, "*place part"]:
    """Of each part; 0 of those that would have next to nothing."""
    coefficients = xp.asarray(coefficients)
    logs = xp.asarray(features)[..., : coefficients.shape[1]] @ coefficients.T
    weights = xp.exp(logs - xp.max(logs, axis=-1, keepdims=True))
    weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    # The best of very many parts may have less.
    weights = xp.where(weights >= min(LEAST_WEIGHT, 1 / len(coefficients)), weights, 0.0)
    return weights / xp.sum(weights, axis=-1, keepdims=True)


class Scores(eqx.Module):
    """What the CRPS of any blend w is made of: w @ errors - w @ distances @ w / 2."""

    errors: Float[np.ndarray, "place part"]
    """Mean distances from what was observed."""
    distances: Float[np.ndarray, "place part part"]
    """Mean distances between what two parts say."""

    @classmethod
    def of(
        cls,
        parts: Sequence[AbstractNormalMixture],
        values: Float[np.ndarray, "question time observed"],
        weights: Float[np.ndarray, "question time observed"],
    ) -> "Scores":
        """At each time of each question, one after the other, sums over what was observed, by the
        weight of each value; NaN is none."""
        question, time, column = np.nonzero(~np.isnan(values))

        def some(array):
            array = np.asarray(array, np.float32)  # in half the time
            step = max(1, array.shape[1] // COMPONENTS)
            return array[question, ::step, time, column]

        means, scales = ([some(getattr(p, n)) for p in parts] for n in ("means", "scales"))
        truth = values[question, time, column].astype(np.float32)
        share = weights[question, time, column]
        place, places = question * values.shape[1] + time, values.shape[0] * values.shape[1]

        def total(distances):
            return np.bincount(place, share * distances, minlength=places)

        number = len(parts)
        errors = np.zeros((places, number))
        distances = np.zeros((places, number, number))
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
    features: Float[np.ndarray, "place feature"],
    num_series: int,
) -> list[Share]:
    """Those whose blend scores best (the CRPS) on questions about as many series.

    Few series say little: before they do, parts are weighed by how each scores alone.
    """
    from scipy.optimize import minimize

    number = scores.errors.shape[1]
    alone = (scores.errors - 0.5 * np.einsum("pii->pi", scores.distances)).sum(axis=0)
    alone = np.maximum(alone, LEAST)
    unit = alone.min() / num_series
    begin = np.zeros((number, features.shape[1]))
    begin[:, 0] = -POWER * np.log(alone / alone.min())

    def loss(flat):
        coefficients = flat.reshape(begin.shape)
        logs = features @ coefficients.T
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        between = np.einsum("pij,pj->pi", scores.distances, weights)
        value = np.sum(weights * (scores.errors - 0.5 * between)) / unit
        slopes = (scores.errors - between) / unit
        slopes = weights * (slopes - np.sum(weights * slopes, axis=1, keepdims=True))
        moved = coefficients - begin
        slope = slopes.T @ features + 2 * LOOSE * moved
        return value + LOOSE * np.sum(moved**2), slope.ravel()

    found = minimize(loss, begin.ravel(), jac=True, method="L-BFGS-B").x.reshape(begin.shape)
    return [Share(row.astype(np.float32)) for row in found]
