"""Regret: forecasts beside better ones of the same values."""

import numpy as np
import pytest
from scipy import stats

from lupi import metrics
from lupi.distributions import NormalMixture
from lupi.errors import UserError
from lupi.evaluation import regret, score

RNG = np.random.default_rng(0)
SERIES, TIMES = 2000, 5
LEVELS = RNG.normal(0.0, 10.0, (SERIES, 1, 1))
Y = LEVELS + RNG.standard_normal((SERIES, TIMES, 1))


def scores(scale: float, y=Y, known=None):
    """Of forecasts of the right mean and this standard deviation; the truth's is 1."""
    means = np.broadcast_to(LEVELS[: len(y)], y.shape)[:, None]
    return score(NormalMixture(means, np.full_like(means, scale)), y, known)


def test_nothing_is_lost_against_oneself():
    found = regret(scores(1.0), scores(1.0))
    assert found.log_likelihood == (0.0, 0.0)
    assert found.crps_ratio.mean == pytest.approx(1.0)
    assert found.crps_ratio.stderr == pytest.approx(0.0, abs=1e-9)


def test_what_is_lost_is_the_divergence_from_the_truth():
    """KL(N(0, 1) || N(0, 2)), and the CRPS of a Normal under another."""
    found = regret(scores(2.0), scores(1.0))
    divergence = np.log(2) + 1 / 8 - 1 / 2
    assert found.log_likelihood.mean == pytest.approx(
        divergence, abs=4 * found.log_likelihood.stderr
    )
    expected = (np.sqrt(2 * (1 + 2**2)) - 2) / (np.sqrt(2 * 2) - 1)
    assert found.crps_ratio.mean == pytest.approx(expected, abs=4 * found.crps_ratio.stderr)
    assert 0 < found.crps_ratio.stderr < 0.05


def test_standard_errors_are_those_of_a_jackknife_over_series():
    model, ideal = scores(2.0), scores(1.0)
    found = regret(model, ideal)
    lost = (ideal.values["log_likelihood"] - model.values["log_likelihood"])[:, 0]
    assert found.log_likelihood.stderr == pytest.approx(stats.sem(lost))
    a, b = model.values["crps"][:, 0], ideal.values["crps"][:, 0]
    without_one = (a.sum() - a) / (b.sum() - b)
    jackknife = np.sqrt((SERIES - 1) * without_one.var())
    assert found.crps_ratio.stderr == pytest.approx(jackknife, rel=0.01)


def test_series_of_which_nothing_was_observed_are_left_out():
    known = np.ones(Y.shape, bool)
    known[100:] = False
    found = regret(scores(2.0, known=known), scores(1.0, known=known))
    first = regret(scores(2.0, Y[:100]), scores(1.0, Y[:100]))
    np.testing.assert_allclose(found, first, rtol=1e-6)


def test_scores_of_other_values_are_refused():
    with pytest.raises(UserError, match="10000 values in 2000 series and of 500 in 100"):
        regret(scores(1.0), scores(1.0, Y[:100]))


def test_a_ratio_of_single_values_has_no_standard_error():
    assert metrics.estimate_ratio([3.0], [2.0]) == (1.5, None)
