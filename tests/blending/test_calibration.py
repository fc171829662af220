"""Widths that follow what was seen of series left out."""

import jax
import numpy as np
import pytest
from scipy import stats

from lupi.blending.calibration import (
    Calibration,
    distances,
    features,
    fit_calibration,
    standard_scores,
)
from lupi.data import Observations
from lupi.distributions import NormalMixture
from lupi.models import Prediction

RNG = np.random.default_rng(0)


def scores_of(num_series: int, scale, *, points: int = 20):
    """Standard scores of series with a scale each may have at each point."""
    beyond = RNG.random((num_series, points))
    seen = RNG.integers(0, 20, (num_series, 1)) + np.zeros((1, points))
    scores = RNG.standard_normal((num_series, points)) * scale(seen, beyond)
    series = np.arange(num_series)[:, None] + np.zeros((1, points), int)
    before = np.zeros_like(beyond)
    return [part.ravel() for part in (scores, seen, beyond, before)], series.ravel()


def test_a_factor_is_found_again():
    parts, series = scores_of(300, lambda seen, beyond: 2.0)
    found = fit_calibration(*parts, series, certain=True)
    np.testing.assert_allclose(found.coefficients, [np.log(2), 0, 0, 0, 0], atol=0.1)
    np.testing.assert_array_equal(found.widths, 1.0)


def test_it_grows_with_the_distance_and_shrinks_with_what_was_seen():
    parts, series = scores_of(300, lambda seen, beyond: np.exp(beyond) * (seen + 1) ** -0.3)
    found = fit_calibration(*parts, series, certain=True)
    # Not quite as much as there is: a difference has to be shown.
    assert -0.35 < found.coefficients[1] < -0.25
    assert 0.7 < found.coefficients[2] < 1.0


def test_few_series_say_little_of_differences():
    parts, series = scores_of(6, lambda seen, beyond: np.exp(beyond))
    found = fit_calibration(*parts, series, certain=True)
    assert 0 < found.coefficients[2] < 0.8


def test_every_series_counts_as_one():
    parts, series = scores_of(100, lambda seen, beyond: 1.0)
    long, _ = scores_of(1, lambda seen, beyond: 9.0, points=2000)
    parts = [np.concatenate(both) for both in zip(parts, long, strict=True)]
    found = fit_calibration(*parts, np.append(series, [100] * 2000), certain=True)
    assert abs(found.coefficients[0]) < 0.1


@pytest.mark.parametrize("num_series", [4, 8, 30, 400])
def test_of_few_series_it_is_students_distribution(num_series):
    parts, series = scores_of(num_series, lambda seen, beyond: 1.0)
    found = fit_calibration(*parts, series, certain=False)
    means, scales = np.zeros((64, 1, 1)), np.ones((64, 1, 1))
    mixture = NormalMixture(*found.widened(means, scales, np.ones(1), np))
    upper = float(mixture.quantile(0.95)[0, 0])
    assert upper == pytest.approx(stats.t(num_series - 1).ppf(0.95), rel=0.02)


def test_standard_scores_are_those_of_a_normal_distribution():
    values = np.array([[-2.0], [0.5], [1.0], [np.nan], [60.0]])
    mixture = NormalMixture(np.full((3, 5, 1), 1.0), np.full((3, 5, 1), 2.0))
    expected = (values - 1) / 2
    np.testing.assert_allclose(standard_scores(mixture, values), expected, rtol=1e-3, atol=1e-3)


# Of three coefficients there are files.
@pytest.mark.parametrize("coefficients", [[np.log(3), 0.2, 0.5], [np.log(3), 0.2, 0.5, 0.3, -0.4]])
def test_a_prediction_is_widened_around_its_mean(coefficients):
    found = Calibration(np.array(coefficients, np.float32), np.ones(64, np.float32))
    seen = Observations(np.array([0.1, 0.4], np.float32), np.zeros((2, 1), np.float32))
    times = np.array([0.02, 0.4, 0.9], np.float32)
    means, scales = RNG.standard_normal((16, 3, 1)), RNG.uniform(1, 2, (16, 3, 1))
    before = Prediction(times, means, scales, jax.random.key(0))
    after = found(before, seen)
    x = features(2, np.array([0.0, 0.0, 0.5]), np.array([0.08, 0.0, 0.0]))
    factor = np.exp(x[:, : len(coefficients)] @ found.coefficients)
    np.testing.assert_allclose(after.mean, before.mean, atol=1e-6)
    np.testing.assert_allclose(after.std[:, 0], factor * np.asarray(before.std)[:, 0], rtol=1e-5)


def test_none_changes_nothing():
    seen = Observations(np.zeros(1, np.float32), np.zeros((1, 1), np.float32))
    means, scales = RNG.standard_normal((8, 2, 1)), np.ones((8, 2, 1))
    before = Prediction(np.array([0.0, 1.0], np.float32), means, scales, jax.random.key(0))
    np.testing.assert_allclose(Calibration.none()(before, seen).means, means, atol=1e-6)


def test_scores_beyond_all_measure_do_not_make_an_endless_width():
    parts, series = scores_of(4, lambda seen, beyond: 1e6)
    found = fit_calibration(*parts, series, certain=True)
    assert np.exp(features(5.0, np.array([0.0])) @ found.coefficients) < 30


def test_after_and_before_what_was_seen_are_other_matters_than_between():
    beyond, before = np.zeros((300, 20)), np.zeros((300, 20))
    beyond[:, :7], before[:, 7:14] = 0.4, 0.4
    scores = RNG.standard_normal((300, 20)) * np.where(
        beyond > 0, 2.0, np.where(before > 0, 0.5, 1)
    )
    series = np.arange(300)[:, None] + np.zeros((1, 20), int)
    parts = (part.ravel() for part in (scores, np.full((300, 20), 5.0), beyond, before, series))
    found = fit_calibration(*parts, certain=True)
    at = features(5.0, np.array([0.4, 0.0, 0.0]), np.array([0.0, 0.4, 0.0]))
    np.testing.assert_allclose(np.exp(at @ found.coefficients), [2.0, 0.5, 1.0], rtol=0.1)


@pytest.mark.parametrize(
    ("mask", "beyond", "before"),
    [
        ([True, True], [0, 0, 0.5], [0.1, 0, 0]),
        ([False, True], [0, 0, 0.5], [0.4, 0.15, 0]),
        ([False, False], [0.1, 0.35, 1.0], [0, 0, 0]),
    ],
)
def test_distances_are_from_what_was_seen(mask, beyond, before):
    found = distances(np.array([0.2, 0.5]), np.array(mask), np.array([0.1, 0.35, 1.0]))
    np.testing.assert_allclose(found, (beyond, before), atol=1e-12)
