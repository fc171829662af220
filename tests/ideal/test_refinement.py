"""Importance sampling against closed forms and scipy; no system and no solver in it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lupi.ideal.importance import (
    DEGREES,
    StudentMixture,
    around_points,
    effective_size,
    pick,
    tempered,
)
from lupi.ideal.refinement import refined

KEY = jax.random.key(0)
MATRIX = np.array([[1.0, 0.5], [0.3, -1.0], [2.0, 0.1]], np.float32)


@eqx.filter_jit
def posterior_of(residuals, log_prior, bank, noise, key):
    """Weighted points, and how many they are worth."""

    def of(point):
        return residuals(point) / noise

    of_bank = -0.5 * (jax.vmap(of)(bank) ** 2).sum(axis=-1)
    of_bank = jnp.where(jnp.isnan(of_bank), -jnp.inf, of_bank)
    points, log_weights = refined(bank, of_bank, of, log_prior, num_points=512, key=key)
    return points, jax.nn.softmax(log_weights), effective_size(log_weights)


def normal_log_prior(point):
    return -0.5 * (point**2).sum() - jnp.log(2 * jnp.pi)


def linear(point):
    return jnp.asarray(MATRIX) @ point - jnp.array([0.4, -1.0, 0.7])


pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(3.0, marks=pytest.mark.slow),
        pytest.param(0.3, marks=pytest.mark.slow),
        pytest.param(1e-2, marks=pytest.mark.slow),
        1e-3,
    ],
)
def test_a_linear_posterior_has_its_closed_form_whatever_the_noise(noise):
    bank = jax.random.normal(jax.random.key(1), (2048, 2))
    points, weights, size = posterior_of(linear, normal_log_prior, bank, jnp.float32(noise), KEY)
    covariance = np.linalg.inv(np.eye(2) + MATRIX.T @ MATRIX / noise**2)
    mean = covariance @ MATRIX.T @ np.array([0.4, -1.0, 0.7]) / noise**2
    widths = np.sqrt(np.diag(covariance))
    assert float(size) > 700
    found = np.asarray(weights, float) @ np.asarray(points, float)
    np.testing.assert_allclose((found - mean) / widths, 0.0, atol=4 / np.sqrt(float(size)))
    distances = np.asarray(points, float) - found
    second = (distances * np.asarray(weights)[:, None]).T @ distances
    np.testing.assert_allclose(
        second / np.outer(widths, widths), covariance / np.outer(widths, widths), atol=0.15
    )


def test_both_of_two_far_and_narrow_modes_are_found_with_their_shares():
    """|x| is known to a hundredth, x is not; of x < 0 the prior has a third."""

    def log_prior(point):
        inside = jnp.abs(point[0]) < 3.0
        return jnp.where(inside, jnp.log(jnp.where(point[0] < 0, 1 / 9, 2 / 9)), -jnp.inf)

    uniform = jax.random.uniform(jax.random.key(1), (2048, 1), minval=-3.0, maxval=6.0)
    bank = jnp.where(uniform > 3.0, uniform - 3.0, uniform)
    points, weights, size = posterior_of(
        lambda point: point**2 - 1.0, log_prior, bank, jnp.float32(0.02), KEY
    )
    assert float(size) > 300
    below = np.asarray(weights)[np.asarray(points[:, 0]) < 0].sum()
    assert float(below) == pytest.approx(1 / 3, abs=0.06)
    np.testing.assert_allclose(np.asarray(weights) @ np.abs(points[:, 0]), 1.0, atol=2e-3)


@pytest.mark.slow
def test_what_the_prior_rules_out_has_no_weight():
    def log_prior(point):
        return jnp.where((jnp.abs(point) <= 1.0).all(), -jnp.log(4.0), -jnp.inf)

    bank = jax.random.uniform(jax.random.key(1), (512, 2), minval=-1.0, maxval=1.0)
    points, weights, size = posterior_of(
        lambda point: point - 1.02, log_prior, bank, jnp.float32(0.05), KEY
    )
    outside = (np.abs(points) > 1.0).any(axis=1)
    assert outside.any()
    assert float(size) > 100
    np.testing.assert_array_equal(np.asarray(weights)[outside], 0.0)
    mean = stats.truncnorm.mean(-2.02 / 0.05, -0.02 / 0.05, 1.02, 0.05)
    np.testing.assert_allclose(np.asarray(weights) @ np.asarray(points), mean, atol=5e-3)


@pytest.mark.slow
def test_where_nothing_can_be_computed_there_is_no_weight():
    """A system that ends before it is observed: of x < 0 there is no root."""
    bank = jax.random.normal(jax.random.key(1), (512, 2))
    points, weights, size = posterior_of(
        lambda point: jnp.sqrt(point) - 0.1, normal_log_prior, bank, jnp.float32(0.1), KEY
    )
    assert float(size) > 100
    assert np.isfinite(weights).all()
    np.testing.assert_array_equal(np.asarray(weights)[(np.asarray(points) < 0).any(axis=1)], 0.0)


def mixture() -> StudentMixture:
    roots = jnp.array([[[0.5, 0.0], [0.3, 1.0]], [[0.01, 0.0], [0.0, 0.02]]])
    return StudentMixture(
        weights=jnp.array([0.3, 0.7]),
        centres=jnp.array([[1.0, -1.0], [2.0, 0.5]]),
        roots=roots,
        whitenings=jnp.linalg.inv(roots),
    )


def test_the_density_of_a_student_mixture_is_scipys():
    some, points = mixture(), np.array([[1.0, -1.0], [2.01, 0.5], [-3.0, 4.0], [1.2, 0.1]])
    expected = sum(
        weight * stats.multivariate_t.pdf(points, centre, root @ root.T, df=DEGREES)
        for weight, centre, root in zip(
            np.asarray(some.weights), np.asarray(some.centres), np.asarray(some.roots), strict=True
        )
    )
    found = some.log_density(jnp.asarray(points, jnp.float32))
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-4)


def test_points_are_drawn_from_the_density_they_are_said_to_come_from():
    """The mean of f / q over points of q is the integral of f, whatever f."""
    some = mixture()
    points = some.sample(4000, key=KEY)
    target = stats.multivariate_normal([1.2, -0.5], [[0.2, 0.05], [0.05, 0.5]])
    ratios = target.pdf(points) / np.exp(np.asarray(some.log_density(points), float))
    assert ratios.mean() == pytest.approx(1.0, abs=4 * ratios.std() / np.sqrt(4000))
    first = np.asarray(points, float)[:, 0]
    near = (np.abs(first - 2.0) < 0.1).mean()
    assert near == pytest.approx(0.7 + 0.3 * 0.03, abs=0.02)


def test_a_density_around_points_is_like_theirs():
    rng = np.random.default_rng(0)
    points = rng.multivariate_normal([3.0, -1.0], [[1.0, 0.9], [0.9, 1.0]], 3000)
    weights = jnp.full(3000, 1 / 3000)
    some = around_points(jnp.asarray(points, jnp.float32), weights)
    drawn = np.asarray(some.sample(4000, key=KEY))
    np.testing.assert_allclose(np.median(drawn, axis=0), [3.0, -1.0], atol=0.15)
    assert np.corrcoef(drawn.T)[0, 1] > 0.7


def test_picks_follow_the_weights_and_the_first_do_not_depend_on_the_number():
    weights = jnp.array([0.1, 0.0, 0.55, 0.35])
    many = np.asarray(pick(weights, 1000, key=KEY))
    np.testing.assert_allclose(np.bincount(many, minlength=4), 1000 * weights, atol=3)
    np.testing.assert_array_equal(pick(weights, 10, key=KEY), many[:10])


def test_a_likelihood_counts_less_only_where_too_few_points_would_matter():
    distances = jnp.linspace(-1.0, 1.0, 1001)
    none = jnp.zeros(1001)
    narrow = tempered(none, -0.5 * (distances / 1e-5) ** 2, 50)
    assert float(1 / (narrow**2).sum()) == pytest.approx(50, rel=0.05)
    wide = -0.5 * (distances / 0.3) ** 2
    np.testing.assert_allclose(tempered(none, wide, 50), jax.nn.softmax(wide), rtol=1e-5)
