import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scoringrules
import uncertainty_toolbox as uct
from scipy import integrate, optimize, stats

from lupi import metrics
from lupi.distributions import Normal, NormalMixture

RNG = np.random.default_rng(0)
SHAPE = (40, 25, 2)
MEAN = RNG.normal(size=SHAPE).astype(np.float32)
STD = RNG.uniform(0.2, 1.5, size=SHAPE).astype(np.float32)
CALIBRATED = (MEAN + STD * RNG.normal(size=SHAPE)).astype(np.float32)
ALL = np.ones(SHAPE, bool)


def as_mixture(means, scales) -> NormalMixture:
    """Of components that are given one by one."""
    return NormalMixture(np.stack(means, axis=-3), np.stack(scales, axis=-3))


def pit_of(spread: float):
    """The PIT of a forecaster whose standard deviations are `spread` times the true ones."""
    return metrics.spread_pit(Normal(MEAN, np.float32(spread) * STD), CALIBRATED)


def curve_of(pit):
    return metrics.calibration_curve(pit, np.ones(pit.shape, bool))


def pooled_error(pit) -> float:
    """Kuleshov's, all series and columns together."""
    return float(metrics.calibration_error(curve_of(pit).over(0).over(0)))


MIXTURE = as_mixture([MEAN, MEAN + 1, MEAN - 0.5], [STD, 2 * STD, 0.3 * STD])


def test_the_error_of_a_constant_offset_is_its_square():
    error = metrics.squared_error(as_mixture([MEAN + 0.5], [STD]), MEAN, ALL)
    assert error.shape == (40, 2)
    np.testing.assert_allclose(error, 0.25, rtol=1e-4)


def test_the_error_is_that_of_the_mean_of_all_components():
    error = metrics.squared_error(as_mixture([MEAN + 3, MEAN - 1], [STD, STD]), MEAN, ALL)
    np.testing.assert_allclose(error, 1.0, rtol=1e-4)


def test_the_pit_agrees_with_scipy():
    np.testing.assert_allclose(pit_of(1.0), stats.norm.cdf(CALIBRATED, MEAN, STD), atol=1e-5)


def test_the_pit_of_a_forecast_without_spread_is_zero_or_one_and_a_half_at_the_mean():
    y = np.array([[0.0], [2.0], [1.0]])
    pit = metrics.spread_pit(Normal(np.ones((3, 1)), np.zeros((3, 1))), y)
    np.testing.assert_array_equal(pit[:, 0], [0.0, 1.0, 0.5])


def test_the_mixtures_pit_is_the_mean_of_its_components():
    mixture = as_mixture([MEAN, MEAN + 1], [STD, 2 * STD])
    expected = (
        stats.norm.cdf(CALIBRATED, MEAN, STD) + stats.norm.cdf(CALIBRATED, MEAN + 1, 2 * STD)
    ) / 2
    np.testing.assert_allclose(mixture.probability_below(CALIBRATED), expected, atol=1e-5)


def test_the_calibration_curve_agrees_with_uncertainty_toolbox():
    """Which counts (prediction - truth) below each quantile: the two change places to compare."""
    levels, observed = uct.get_proportion_lists_vectorized(
        CALIBRATED.ravel(), 0.6 * STD.ravel(), MEAN.ravel(), num_bins=51, prop_type="quantile"
    )
    curve = curve_of(pit_of(0.6)).over(0).over(0).share
    np.testing.assert_allclose(curve[:-1], np.array(observed)[1:-1], atol=2e-3)
    np.testing.assert_allclose(np.array(levels)[1:-1], np.arange(1, 50) / 50)


def test_perfect_calibration_scores_zero_pooled_and_a_two_hundredth_in_the_papers_way():
    column = (np.arange(2500) + 0.5).reshape(1, 2500, 1) / 2500
    uniform = np.tile(column, (3, 1, 2))
    assert pooled_error(uniform) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(
        metrics.paper_calibration_error(curve_of(uniform)), 1 / 200, rtol=1e-3
    )


def test_a_forecaster_that_is_always_too_high_scores_the_sum_of_squared_levels():
    levels = np.arange(1, 51) / 50
    expected = np.sum(levels[:-1] ** 2)
    assert pooled_error(np.ones((2, 10, 1))) == pytest.approx(expected, rel=1e-5)


def test_the_papers_error_is_the_histogram_against_the_midpoints():
    pit = pit_of(0.5)
    found = metrics.paper_calibration_error(curve_of(pit).over(1))
    assert found.shape == (40,)
    for system in range(5):
        counts, edges = np.histogram(pit[system], bins=50, range=(0, 1))
        cumulative = np.cumsum(counts) / counts.sum()
        midpoints = (edges[1:] + edges[:-1]) / 2
        expected = np.sum((cumulative - midpoints) ** 2)
        assert float(found[system]) == pytest.approx(expected, rel=1e-3)


def test_overconfidence_is_worse_calibrated_than_the_truth():
    assert pooled_error(pit_of(0.4)) > 50 * pooled_error(pit_of(1.0))


def test_the_jackknife_error_agrees_with_repetition():
    pits = np.random.default_rng(1).beta(0.6, 0.6, (400, 60, 10, 1))
    curves = [curve_of(pit) for pit in pits]
    values = [metrics.calibration_error(curve.over(0)) for curve in curves]
    errors = [metrics.pooled_calibration_stderr(curve) for curve in curves]
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_a_calibrated_forecasters_intervals_cover_what_they_claim(level):
    error = np.sqrt(level * (1 - level) / CALIBRATED.size)
    assert abs(metrics.coverage(pit_of(1.0), ALL, level=level).mean() - level) < 4 * error


def test_coverage_counts_the_points_inside_the_interval():
    lower, upper = stats.norm.interval(0.9, MEAN, 0.7 * STD)
    inside = ((lower <= CALIBRATED) & (upper >= CALIBRATED)).mean(axis=1)
    np.testing.assert_allclose(metrics.coverage(pit_of(0.7), ALL, level=0.9), inside, atol=1e-6)


def test_the_crps_of_one_normal_agrees_with_uncertainty_toolbox():
    found = metrics.crps(as_mixture([MEAN, MEAN], [STD, STD]), CALIBRATED, ALL).mean()
    expected = uct.crps_gaussian(MEAN.ravel(), STD.ravel(), CALIBRATED.ravel())
    assert float(found) == pytest.approx(expected, rel=1e-4)


def test_the_crps_of_a_standard_normal_at_its_mean_is_known():
    one = np.ones((2, 1, 1))
    found = NormalMixture(0 * one, one).crps(np.zeros((1, 1)))
    assert float(found[0, 0]) == pytest.approx((np.sqrt(2) - 1) / np.sqrt(np.pi), rel=1e-5)


def test_the_crps_of_a_mixture_is_the_integral_of_its_definition():
    means, scales, y = np.array([0.0, 2.0, 2.5]), np.array([0.5, 1.0, 0.2]), 1.3

    def squared(x):
        return (stats.norm.cdf(x, means, scales).mean() - (x >= y)) ** 2

    expected = integrate.quad(squared, -8, y)[0] + integrate.quad(squared, y, 10)[0]
    mixture = NormalMixture(means.reshape(3, 1, 1), scales.reshape(3, 1, 1))
    assert float(mixture.crps(np.full((1, 1), y))[0, 0]) == pytest.approx(expected, rel=1e-4)


def test_the_crps_of_mixtures_agrees_with_scoringrules():
    last = [np.moveaxis(part, -3, -1) for part in (MIXTURE.means, MIXTURE.scales)]
    expected = scoringrules.crps_mixnorm(CALIBRATED, *last)
    np.testing.assert_allclose(MIXTURE.crps(CALIBRATED), expected, rtol=1e-3, atol=2e-6)
    found = metrics.crps(MIXTURE, CALIBRATED, ALL)
    np.testing.assert_allclose(found, expected.mean(axis=1), rtol=1e-4)


def test_the_log_likelihood_of_a_value_is_the_log_of_the_mixtures_density():
    densities = stats.norm.pdf(CALIBRATED[:, None], MIXTURE.means, MIXTURE.scales).mean(axis=1)
    np.testing.assert_allclose(
        MIXTURE.log_density(CALIBRATED), np.log(densities), rtol=1e-4, atol=1e-5
    )
    found = metrics.log_likelihood(MIXTURE, CALIBRATED, ALL)
    np.testing.assert_allclose(found, np.log(densities).mean(axis=1), rtol=1e-4)


def test_the_joint_log_likelihood_is_the_log_of_the_mean_joint_density_per_value():
    small = np.s_[:3, :4]
    forecast = as_mixture([MEAN[small], MEAN[small] + 0.3], [STD[small], STD[small]])
    found = metrics.joint_log_likelihood(forecast, CALIBRATED[small], ALL[small])
    assert found.shape == (3,)
    for system in range(3):
        y = CALIBRATED[system, :4]
        joint = [
            stats.norm.pdf(y, MEAN[system, :4] + shift, STD[system, :4]).prod()
            for shift in (0, 0.3)
        ]
        assert float(found[system]) == pytest.approx(np.log(np.mean(joint)) / 8, rel=1e-4)


def scores(forecast, y, known):
    """Every metric there is, of each series and, but for the joint one, of each column."""
    pit = forecast.probability_below(y)
    curve = metrics.calibration_curve(pit, known)
    return {
        "squared_error": metrics.squared_error(forecast, y, known),
        "crps": metrics.crps(forecast, y, known),
        "log_likelihood": metrics.log_likelihood(forecast, y, known),
        "joint_log_likelihood": metrics.joint_log_likelihood(forecast, y, known),
        "coverage": metrics.coverage(pit, known, level=0.9),
        "calibration_error": metrics.calibration_error(curve),
        "paper_calibration_error": metrics.paper_calibration_error(curve),
        "std": metrics.mean_over_time(forecast.std, known),
    }


@pytest.mark.parametrize("filling", [0.0, 1e3, -7.5])
def test_what_stands_behind_the_mask_counts_in_no_metric(filling):
    """A series that ends early scores as the shorter one does."""
    length = 17
    known = ALL.copy()
    known[:, length:] = False
    spoiled = np.where(known, CALIBRATED, np.float32(filling))
    shorter = np.s_[..., :length, :]
    expected = scores(
        NormalMixture(MIXTURE.means[shorter], MIXTURE.scales[shorter]),
        CALIBRATED[shorter],
        ALL[shorter],
    )
    for name, found in scores(MIXTURE, spoiled, known).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_gap_in_one_column_leaves_the_other_as_it_is():
    known = ALL.copy()
    known[:, 3:9, 0] = False
    spoiled = np.where(known, CALIBRATED, np.float32(50.0))
    whole, found = scores(MIXTURE, CALIBRATED, ALL), scores(MIXTURE, spoiled, known)
    for name in found.keys() - {"joint_log_likelihood"}:
        np.testing.assert_array_equal(found[name][:, 1], whole[name][:, 1], err_msg=name)
        assert not np.array_equal(found[name][:, 0], whole[name][:, 0]), name


def test_a_column_scores_with_others_what_it_scores_alone():
    together = scores(MIXTURE, CALIBRATED, ALL)
    for j in (0, 1):
        one = np.s_[..., j : j + 1]
        alone = scores(
            NormalMixture(MIXTURE.means[one], MIXTURE.scales[one]), CALIBRATED[one], ALL[one]
        )
        for name in alone.keys() - {"joint_log_likelihood"}:
            np.testing.assert_allclose(
                together[name][:, j], alone[name][:, 0], rtol=1e-6, err_msg=name
            )


def test_a_column_without_any_value_has_no_score():
    known = ALL.copy()
    known[4, :, 1] = False
    found = scores(MIXTURE, CALIBRATED, known)
    for name in found.keys() - {"joint_log_likelihood"}:
        assert np.isnan(found[name][4, 1]), name
        assert np.isfinite(np.delete(found[name].ravel(), 9)).all(), name
    assert np.isfinite(found["joint_log_likelihood"]).all()


def test_a_curve_pooled_over_series_is_that_of_all_their_points():
    pit = pit_of(0.6)
    pooled = curve_of(pit).over(0)
    expected = [(pit[..., 1] <= level + 1e-7).mean() for level in np.arange(1, 51) / 50]
    np.testing.assert_allclose(pooled.share[1], expected, atol=1e-3)


def test_quantiles_of_mixtures_agree_with_scipy():
    means, scales = np.array([0.0, 2.0, 2.5]), np.array([0.5, 1.0, 0.2])
    mixture = NormalMixture(means.reshape(3, 1, 1), scales.reshape(3, 1, 1))
    for level in (0.001, 0.05, 0.5, 0.77, 0.999):
        expected = optimize.brentq(
            lambda x, level=level: stats.norm.cdf(x, means, scales).mean() - level, -10, 10
        )
        assert float(mixture.quantile(level)[0, 0]) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def offset(mixture: NormalMixture, by: float, factor: float) -> NormalMixture:
    """The same mixture in another unit and far from 0."""
    means, scales = (np.asarray(part, np.float64) for part in (mixture.means, mixture.scales))
    return NormalMixture(by + factor * means, factor * scales)


def test_large_numbers_with_small_differences_keep_their_precision():
    far = offset(MIXTURE, 1e6, 1e-2)
    y = 1e6 + 1e-2 * CALIBRATED.astype(np.float64)
    np.testing.assert_allclose(
        far.probability_below(y), MIXTURE.probability_below(CALIBRATED), atol=2e-5
    )
    np.testing.assert_allclose(far.crps(y), 1e-2 * MIXTURE.crps(CALIBRATED), rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(
        far.log_density(y), MIXTURE.log_density(CALIBRATED) + np.log(1e2), rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(
        (far.quantile(0.3) - 1e6) / 1e-2, MIXTURE.quantile(0.3), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(far.std, 1e-2 * MIXTURE.std, rtol=1e-4)
    for name, found in scores(far, y, ALL).items():
        assert found.dtype == np.float64, name


def test_one_component_is_a_normal_without_spread():
    single = as_mixture([MEAN], [STD])
    np.testing.assert_array_equal(single.spread.scale, 0.0)
    np.testing.assert_array_equal(single.mean, MEAN)
    np.testing.assert_allclose(single.std, STD, rtol=1e-6)
    np.testing.assert_allclose(
        single.quantile(0.9), stats.norm.ppf(0.9, MEAN, STD), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        single.crps(CALIBRATED),
        scoringrules.crps_normal(CALIBRATED, MEAN, STD),
        rtol=1e-3,
        atol=1e-6,
    )


@pytest.mark.parametrize("method", ["probability_below", "log_density", "crps"])
def test_inside_jit_a_mixture_says_what_it_says_outside(method):
    found = jax.jit(lambda m, s, y: getattr(NormalMixture(m, s), method)(y))(
        MIXTURE.means, MIXTURE.scales, CALIBRATED
    )
    assert isinstance(found, jnp.ndarray)
    outside = getattr(MIXTURE, method)(CALIBRATED)
    assert isinstance(outside, np.ndarray)
    np.testing.assert_allclose(found, outside, rtol=1e-4, atol=2e-5)


def test_inside_jit_quantiles_are_what_they_are_outside():
    some = np.s_[:3]
    means, scales = MIXTURE.means[some], MIXTURE.scales[some]
    found = jax.jit(lambda m, s: NormalMixture(m, s).quantile([0.05, 0.5, 0.9]))(means, scales)
    np.testing.assert_allclose(
        found, NormalMixture(means, scales).quantile([0.05, 0.5, 0.9]), rtol=1e-5, atol=1e-5
    )


def test_an_estimate_has_the_standard_error_of_the_mean():
    found = metrics.estimate([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3)
    assert found.stderr == pytest.approx(stats.sem([1.0, 2.0, 4.0]))
    assert metrics.estimate([5.0]) == (5.0, None)


def test_the_root_of_an_estimate_has_the_error_of_a_small_change():
    root = metrics.Estimate(4.0, 0.2).root()
    assert root.mean == pytest.approx(2.0)
    assert root.stderr == pytest.approx(np.sqrt(4.1) - np.sqrt(3.9), rel=1e-2)
    assert metrics.Estimate(4.0, None).root() == (2.0, None)
