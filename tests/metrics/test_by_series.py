"""Calibration where every series counts as one."""

import numpy as np
import pytest
from scipy import stats

from lupi.metrics import chance_band, estimate, estimate_ratio, pit_shares
from lupi.metrics.masking import mean_over_columns


def test_a_long_series_counts_as_much_as_a_short_one():
    pit = np.array([0.1] * 98 + [0.9, 0.3, np.nan])
    series = np.array([0] * 98 + [1, 1, 1])
    np.testing.assert_allclose(pit_shares(pit, series, num_bins=4), [0.5, 0.25, 0.0, 0.25])


def test_the_ends_of_the_pit_are_in_the_outermost_bins():
    found = pit_shares(np.array([0.0, 1.0]), np.array([3, 3]), num_bins=10)
    assert found[0] == found[-1] == pytest.approx(0.5)


def test_the_band_holds_what_chance_makes_of_so_many_series():
    rng = np.random.default_rng(0)
    lower, upper = chance_band(40, num_bins=8)
    first = [
        pit_shares(rng.random(40), np.arange(40), num_bins=8)[0]  # of honest forecasts
        for _ in range(4000)
    ]
    inside = np.mean([lower <= share <= upper for share in first])
    assert 0.9 <= inside < 0.97  # as near as whole numbers of series allow


def test_columns_count_by_how_much_is_known_of_them():
    values = np.array([[1.0, 4.0], [np.nan, 3.0], [np.nan, np.nan]])
    number = np.array([[2, 1], [0, 5], [0, 0]])
    np.testing.assert_allclose(mean_over_columns(values, number), [2.0, 3.0, np.nan])


def test_the_error_of_a_mean_is_known_from_two_values_on():
    assert estimate([3.0]).stderr is None
    mean, stderr = estimate([1.0, 4.0])
    assert mean == 2.5
    assert stderr == pytest.approx(stats.sem([1.0, 4.0]))


def test_the_error_of_a_ratio_is_that_of_what_varies_in_it():
    numerators = np.array([1.0, 4.0, 2.0])
    exact = estimate_ratio(3 * numerators, numerators)
    assert exact == (pytest.approx(3), pytest.approx(0, abs=1e-12))
    of_constant = estimate_ratio(numerators, np.full(3, 2.0))
    assert of_constant.mean == pytest.approx(numerators.mean() / 2)
    assert of_constant.stderr == pytest.approx(stats.sem(numerators) / 2)
