import jax
import jax.numpy as jnp
import numpy as np
import pytest
import uncertainty_toolbox as uct
from scipy import integrate, stats

from lupi import metrics

RNG = np.random.default_rng(0)
SHAPE = (40, 25, 2)
MEAN = RNG.normal(size=SHAPE).astype(np.float32)
STD = RNG.uniform(0.2, 1.5, size=SHAPE).astype(np.float32)
CALIBRATED = (MEAN + STD * RNG.normal(size=SHAPE)).astype(np.float32)


def pit_of(spread: float):
    """The PIT of a forecaster whose standard deviations are `spread` times the true ones."""
    return metrics.normal_pit(jnp.array(MEAN), jnp.array(spread * STD), jnp.array(CALIBRATED))


def test_the_error_of_a_constant_offset_is_its_square():
    error = metrics.mean_squared_error(jnp.array(MEAN) + 0.5, jnp.array(MEAN))
    assert error.shape == (40,)
    np.testing.assert_allclose(error, 0.25, rtol=1e-4)


def test_the_pit_agrees_with_scipy():
    np.testing.assert_allclose(pit_of(1.0), stats.norm.cdf(CALIBRATED, MEAN, STD), atol=1e-5)


def test_the_pit_of_a_forecast_without_spread_is_zero_or_one():
    y = jnp.array([0.0, 2.0])
    np.testing.assert_array_equal(metrics.normal_pit(jnp.ones(2), jnp.zeros(2), y), [0.0, 1.0])


def test_the_mixtures_pit_is_the_mean_of_its_components():
    means, scales = jnp.stack([MEAN, MEAN + 1], axis=1), jnp.stack([STD, 2 * STD], axis=1)
    expected = (
        stats.norm.cdf(CALIBRATED, MEAN, STD) + stats.norm.cdf(CALIBRATED, MEAN + 1, 2 * STD)
    ) / 2
    np.testing.assert_allclose(
        metrics.mixture_pit(means, scales, jnp.array(CALIBRATED)), expected, atol=1e-5
    )


def test_the_calibration_curve_agrees_with_uncertainty_toolbox():
    """Which counts (prediction - truth) below each quantile: the two change places to compare."""
    levels, observed = uct.get_proportion_lists_vectorized(
        CALIBRATED.ravel(), 0.6 * STD.ravel(), MEAN.ravel(), num_bins=51, prop_type="quantile"
    )
    curve = metrics.calibration_curve(pit_of(0.6)).mean(axis=0)
    np.testing.assert_allclose(curve[:-1], np.array(observed)[1:-1], atol=2e-3)
    np.testing.assert_allclose(np.array(levels)[1:-1], np.arange(1, 50) / 50)


def test_perfect_calibration_scores_zero_pooled_and_a_two_hundredth_in_the_papers_way():
    uniform = jnp.tile((jnp.arange(5000) + 0.5).reshape(1, 2500, 2) / 5000, (3, 1, 1))
    assert float(metrics.pooled_calibration_error(uniform)) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(metrics.calibration_error(uniform), 1 / 200, rtol=1e-3)


def test_a_forecaster_that_is_always_too_high_scores_the_sum_of_squared_levels():
    never = jnp.ones((2, 10, 1))
    levels = np.arange(1, 51) / 50
    expected = np.sum(levels[:-1] ** 2)
    assert float(metrics.pooled_calibration_error(never)) == pytest.approx(expected, rel=1e-5)


def test_the_papers_error_is_the_histogram_against_the_midpoints():
    pit = np.array(pit_of(0.5))
    for system, found in enumerate(metrics.calibration_error(jnp.array(pit))[:5]):
        counts, edges = np.histogram(pit[system], bins=50, range=(0, 1))
        cumulative = np.cumsum(counts) / counts.sum()
        midpoints = (edges[1:] + edges[:-1]) / 2
        assert float(found) == pytest.approx(np.sum((cumulative - midpoints) ** 2), rel=1e-3)


def test_overconfidence_is_worse_calibrated_than_the_truth():
    assert float(metrics.pooled_calibration_error(pit_of(0.4))) > 50 * float(
        metrics.pooled_calibration_error(pit_of(1.0))
    )


def test_the_jackknife_error_agrees_with_repetition():
    def pooled(seed):
        pit = jax.random.beta(jax.random.key(seed), 0.6, 0.6, (60, 10, 1))
        return metrics.pooled_calibration_error(pit), metrics.pooled_calibration_error_stderr(pit)

    values, errors = jax.vmap(pooled)(jnp.arange(400))
    assert float(errors.mean()) == pytest.approx(float(values.std()), rel=0.15)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_a_calibrated_forecasters_intervals_cover_what_they_claim(level):
    error = np.sqrt(level * (1 - level) / CALIBRATED.size)
    assert abs(float(metrics.coverage(pit_of(1.0), level=level).mean()) - level) < 4 * error


def test_coverage_counts_the_points_inside_the_interval():
    lower, upper = stats.norm.interval(0.9, MEAN, 0.7 * STD)
    inside = ((lower <= CALIBRATED) & (upper >= CALIBRATED)).mean(axis=(1, 2))
    np.testing.assert_allclose(metrics.coverage(pit_of(0.7), level=0.9), inside, atol=1e-6)


def test_sharpness_is_the_mean_deviation_or_the_mean_variance():
    np.testing.assert_allclose(metrics.sharpness(jnp.array(STD)), STD.mean(axis=(1, 2)), rtol=1e-5)
    expected = (STD**2).mean(axis=(1, 2))
    np.testing.assert_allclose(metrics.sharpness_variance(jnp.array(STD)), expected, rtol=1e-5)


def as_mixture(*components):
    return jnp.stack([jnp.array(c) for c in components], axis=-3)


def test_the_crps_of_one_normal_agrees_with_uncertainty_toolbox():
    found = metrics.crps(as_mixture(MEAN, MEAN), as_mixture(STD, STD), jnp.array(CALIBRATED)).mean()
    expected = uct.crps_gaussian(MEAN.ravel(), STD.ravel(), CALIBRATED.ravel())
    assert float(found) == pytest.approx(expected, rel=1e-4)


def test_the_crps_of_a_standard_normal_at_its_mean_is_known():
    one = jnp.ones((2, 1, 1))
    found = metrics.crps(0 * one, one, jnp.zeros((1, 1)))
    assert float(found) == pytest.approx((np.sqrt(2) - 1) / np.sqrt(np.pi), rel=1e-5)


def test_the_crps_of_a_mixture_is_the_integral_of_its_definition():
    means, scales, y = np.array([0.0, 2.0, 2.5]), np.array([0.5, 1.0, 0.2]), 1.3

    def squared(x):
        return (stats.norm.cdf(x, means, scales).mean() - (x >= y)) ** 2

    expected = integrate.quad(squared, -8, y)[0] + integrate.quad(squared, y, 10)[0]
    shape = (3, 1, 1)
    found = metrics.crps(
        jnp.array(means).reshape(shape), jnp.array(scales).reshape(shape), jnp.full((1, 1), y)
    )
    assert float(found) == pytest.approx(expected, rel=1e-4)


def test_the_log_likelihood_is_the_log_of_the_mean_joint_density_per_value():
    small = np.s_[:3, :4]
    means, scales = as_mixture(MEAN[small], MEAN[small] + 0.3), as_mixture(STD[small], STD[small])
    found = metrics.log_likelihood(means, scales, jnp.array(CALIBRATED[small]))
    for system in range(3):
        y = CALIBRATED[system, :4]
        joint = [
            stats.norm.pdf(y, MEAN[system, :4] + shift, STD[system, :4]).prod()
            for shift in (0, 0.3)
        ]
        assert float(found[system]) == pytest.approx(np.log(np.mean(joint)) / 8, rel=1e-4)


def test_an_estimate_has_the_standard_error_of_the_mean():
    found = metrics.estimate([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3)
    assert found.stderr == pytest.approx(stats.sem([1.0, 2.0, 4.0]))
    assert metrics.estimate([5.0]) == (5.0, None)
