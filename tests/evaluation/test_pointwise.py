"""Scores of single points, averaged."""

import numpy as np
import pytest

from lupi.distributions import NormalMixture
from lupi.evaluation import average, score, score_points

RNG = np.random.default_rng(0)
FORECAST = NormalMixture(
    RNG.normal(size=(7, 5, 6, 2)).astype(np.float32),
    RNG.uniform(0.5, 1.0, (7, 5, 6, 2)).astype(np.float32),
)
Y = RNG.normal(size=(7, 6, 2)).astype(np.float32)
KNOWN = RNG.uniform(size=Y.shape) < 0.7


def test_over_all_points_it_is_what_scores_say_of_series():
    found = average(score_points(FORECAST, Y, KNOWN), KNOWN)
    expected = score(FORECAST, Y, KNOWN).overall()
    for name, value in found.items():
        assert value.mean == pytest.approx(expected[name].mean, rel=1e-5), name
        assert value.stderr == pytest.approx(expected[name].stderr, rel=1e-5), name


def test_only_series_with_chosen_points_count():
    chosen = np.zeros(Y.shape, bool)
    chosen[2, 3, 1] = True
    found = average(score_points(FORECAST, Y, KNOWN | chosen), chosen)
    mean = FORECAST.means[2].mean(axis=0)[3, 1]
    assert found["mse"].mean == pytest.approx((mean - Y[2, 3, 1]) ** 2, rel=1e-4)
    assert found["mse"].stderr is None


def test_without_any_chosen_point_there_is_nothing():
    assert average(score_points(FORECAST, Y, KNOWN), np.zeros(Y.shape, bool)) == {}
