"""Weights of parts, by how good forecasts are with them."""

import numpy as np
import pytest

from lupi.blending.shares import (
    LEAST_WEIGHT,
    Scores,
    Share,
    context_features,
    fit_shares,
    weights_at,
)
from lupi.distributions import NormalMixture

RNG = np.random.default_rng(3)


def part(means, scale: float, number: int = 16) -> NormalMixture:
    """The same Normal at each of the values of questions of one value."""
    means = np.broadcast_to(
        np.asarray(means, float)[:, None, None, None], (len(means), number, 1, 1)
    )
    return NormalMixture(means, np.full(means.shape, scale))


def weights_of(parts, values, features) -> np.ndarray:
    """What is found where every question is a series of its own."""
    values = np.asarray(values)[:, None, None]
    scores = Scores.of(parts, values, np.ones_like(values))
    shares = fit_shares(scores, features, np.arange(len(values)))
    return weights_at(np.stack([one.coefficients for one in shares]), features)


def test_the_score_of_a_blend_is_its_crps():
    means, scales = RNG.normal(0, 2, (2, 5, 16, 3, 2)), RNG.uniform(0.1, 2, (2, 5, 16, 3, 2))
    values = RNG.normal(0, 2, (5, 3, 2))
    values[1, 2, 0] = np.nan
    weights = RNG.uniform(0, 1, values.shape)
    parts = [NormalMixture(m, s) for m, s in zip(means, scales, strict=True)]
    scores = Scores.of(parts, values, weights)
    # Three of four samples are of the first part.
    both = NormalMixture(
        np.concatenate([np.tile(means[0], (1, 3, 1, 1)), means[1]], axis=1),
        np.concatenate([np.tile(scales[0], (1, 3, 1, 1)), scales[1]], axis=1),
    )
    expected = np.nansum(weights * np.asarray(both.crps(values)), axis=(1, 2))
    w = np.array([0.75, 0.25])
    found = scores.errors @ w - 0.5 * np.einsum("i,qij,j->q", w, scores.distances, w)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_weights_are_the_shares_that_values_came_from():
    number = 4000
    values = np.where(
        RNG.random(number) < 0.7, RNG.normal(0, 1, number), RNG.normal(3, 0.5, number)
    )
    parts = [part(np.zeros(number), 1.0), part(np.full(number, 3.0), 0.5)]
    features = context_features(np.full(number, 5.0), np.full(number, 0.3))
    np.testing.assert_allclose(weights_of(parts, values, features)[0], [0.7, 0.3], atol=0.03)


@pytest.mark.parametrize("number", [3, 30])
def test_a_part_that_is_far_off_has_no_weight_even_with_few_series(number):
    truth = RNG.normal(0, 1, number)
    values = truth + RNG.normal(0, 0.1, number)
    parts = [part(truth, 0.1), part(truth + 3.0, 1.0)]
    features = context_features(np.full(number, 5.0), np.full(number, 0.3))
    np.testing.assert_array_equal(weights_of(parts, values, features), [[1.0, 0.0]] * number)


def test_parts_that_are_alike_share_alike():
    values = RNG.normal(0, 1, 6)
    parts = [part(np.zeros(6), 1.0)] * 2
    features = context_features(np.full(6, 5.0), np.linspace(0, 1, 6))
    np.testing.assert_allclose(weights_of(parts, values, features), 0.5, atol=1e-3)


def test_a_part_is_taken_where_it_is_good():
    number = 200
    last = RNG.uniform(0, 1, number)
    truth = RNG.normal(0, 1, number)
    values = truth + RNG.normal(0, 0.1, number)
    early, late = (
        np.where(there, truth, RNG.normal(0, 1, number)) for there in (last < 0.5, last > 0.5)
    )
    features = context_features(np.full(number, 5.0), last)
    weights = weights_of([part(early, 0.3), part(late, 0.3)], values, features)
    assert weights[last < 0.2, 0].min() > 0.8
    assert weights[last > 0.8, 1].min() > 0.8


def test_a_constant_share_is_the_weight():
    weights = np.array([0.6, 0.0, 0.3, 0.1])
    coefficients = np.stack([Share.constant(weight).coefficients for weight in weights])
    found = weights_at(coefficients, context_features(np.array([0.0, 9.0]), np.array([0.0, 1.0])))
    np.testing.assert_allclose(found, np.stack([weights] * 2), atol=1e-6)


def test_next_to_nothing_is_nothing():
    coefficients = np.log([[0.5], [0.5 - 0.9 * LEAST_WEIGHT], [0.9 * LEAST_WEIGHT]])
    found = weights_at(coefficients, np.ones((1, 1)))
    assert found[0, 2] == 0
    assert found.sum() == pytest.approx(1)
