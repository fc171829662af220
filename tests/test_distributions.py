"""Against numpyro's and scipy's."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as theirs
import pytest
from scipy import stats

from lupi import distributions
from lupi._machinery.compilation import compiled
from lupi.distributions import (
    Distribution,
    Normal,
    NormalMixture,
    Uniform,
    draw_components,
    kl_divergence,
    normal_cdf,
)
from lupi.errors import UserError

LOC, SCALE = jnp.array([-1.0, 0.0, 2.0]), jnp.array([0.1, 1.0, 3.0])


def test_densities_samples_and_divergences_are_numpyros():
    ours, other = Normal(LOC, SCALE), Normal(LOC[::-1], 2 * SCALE)
    reference, reference_other = (theirs.Normal(p.loc, p.scale) for p in (ours, other))
    key = jax.random.key(0)
    for shape in ((), (4,), (2, 5)):
        np.testing.assert_allclose(ours.sample(key, shape), reference.sample(key, shape), rtol=1e-6)
    values = ours.sample(key, (6,))
    np.testing.assert_allclose(ours.log_prob(values), reference.log_prob(values), rtol=1e-5)
    np.testing.assert_allclose(
        kl_divergence(ours, other), theirs.kl_divergence(reference, reference_other), rtol=1e-5
    )
    np.testing.assert_allclose(kl_divergence(ours, ours), 0.0, atol=1e-7)


def test_one_of_a_batch_is_itself_a_distribution():
    """Unlike numpyro's, which keep the shape they had inside a vmap."""
    normals = jax.vmap(Normal)(jnp.zeros((5, 3)), jnp.ones((5, 3)))
    assert normals.sample(jax.random.key(0)).shape == (5, 3)


def test_uniform_numbers_are_numpyros_and_both_are_distributions():
    keys = jax.random.split(jax.random.key(0), 1000)
    found = jax.vmap(Uniform(0.2, 1.0).sample)(keys)
    np.testing.assert_array_equal(found, jax.vmap(theirs.Uniform(0.2, 1.0).sample)(keys))
    assert 0.2 <= float(found.min()) < float(found.max()) <= 1.0
    for distribution in (Uniform(0.0, 1.0), theirs.LogNormal(0.0, 1.0)):
        assert isinstance(distribution, Distribution)
    assert not isinstance(0.5, Distribution)
    assert not isinstance(jnp.zeros(()), Distribution)


def test_the_density_of_a_uniform_is_scipys():
    values = np.array([-1.0, 0.21, 0.5, 0.99, 1.1], np.float32)
    with np.errstate(divide="ignore"):
        expected = np.log(stats.uniform(0.2, 0.8).pdf(values))
    np.testing.assert_allclose(Uniform(0.2, 1.0).log_prob(values), expected, rtol=1e-6)


@pytest.mark.parametrize("ends", [(1.0, 0.2), (0.5, 0.5), (float("nan"), 1.0)])
def test_ends_in_the_wrong_order_are_refused(ends):
    with pytest.raises(UserError, match="a lower and a higher number"):
        Uniform(*ends)


RNG = np.random.default_rng(0)
MEANS, SCALES = RNG.normal(size=(8, 5, 2)), RNG.uniform(0.2, 2.0, (8, 5, 2))
MIXTURE = NormalMixture(MEANS, SCALES)
VALUES = RNG.normal(size=(5, 2))


def test_probabilities_of_a_mixture_are_scipys():
    components = stats.norm(MEANS, SCALES)
    np.testing.assert_allclose(
        MIXTURE.probability_below(VALUES), components.cdf(VALUES).mean(axis=0), atol=1e-6
    )
    np.testing.assert_allclose(
        MIXTURE.log_density(VALUES), np.log(components.pdf(VALUES).mean(axis=0)), rtol=1e-5
    )
    z = np.linspace(-8, 8, 4001).astype(np.float32)
    np.testing.assert_allclose(normal_cdf(z), stats.norm.cdf(z), atol=3e-7)


def test_of_several_values_each_has_its_probability():
    several = np.stack([VALUES, VALUES + 0.3, VALUES - 2.0])
    found = MIXTURE.probability_below(several)
    one_by_one = np.stack([MIXTURE.probability_below(values) for values in several])
    np.testing.assert_array_equal(found, one_by_one)
    traced = jax.jit(lambda values: MIXTURE.probability_below(values))
    np.testing.assert_allclose(traced(several), one_by_one, atol=1e-6)


def test_quantiles_of_a_mixture_invert_its_probabilities():
    levels = [0.01, 0.3, 0.5, 0.975]
    for level, values in zip(levels, MIXTURE.quantile(levels), strict=True):
        np.testing.assert_allclose(MIXTURE.probability_below(values), level, atol=1e-5)
        np.testing.assert_array_equal(MIXTURE.quantile(level), values)


@pytest.mark.parametrize("level", [0.001, 0.05, 0.31, 0.95, 0.999])
def test_quantiles_of_narrow_peaks_far_apart_and_of_heavy_tails_are_found_too(level):
    peaks = np.sign(MEANS) * 5, 0.01 * SCALES
    tails = 3 * np.tan(1.5 * np.sin(MEANS)), np.exp(2 * MEANS)
    for means, scales in (peaks, tails):
        found = NormalMixture(means, scales).quantile(level)
        below = stats.norm(means, scales).cdf(found).mean(axis=0)
        np.testing.assert_allclose(below, level, atol=1e-4)


def test_a_quantile_is_the_same_whatever_stands_beside_it():
    hard = NormalMixture(np.append(MEANS, 50 * MEANS, axis=1), np.append(SCALES, SCALES, axis=1))
    np.testing.assert_array_equal(hard.quantile(0.9)[:5], MIXTURE.quantile(0.9))
    means, scales = MEANS.astype(np.float32), SCALES.astype(np.float32)
    alone = NormalMixture(means[:, 3:4, :1], scales[:, 3:4, :1])  # whose mean NumPy adds otherwise
    together = NormalMixture(means, scales)
    np.testing.assert_array_equal(together.quantile(0.9)[3:4, :1], alone.quantile(0.9))


def test_the_crps_of_a_mixture_is_the_integral_that_defines_it():
    grid = np.linspace(-15, 15, 20_001)[:, None, None]
    below = stats.norm(MEANS[:, None], SCALES[:, None]).cdf(grid).mean(axis=0)
    expected = np.trapezoid((below - (grid >= VALUES)) ** 2, grid, axis=0)
    np.testing.assert_allclose(MIXTURE.crps(VALUES), expected, atol=2e-3)


def test_a_mixture_shifted_and_scaled_is_the_same_mixture():
    """Also where the differences are small beside the numbers, as those of a temperature in K."""
    far = NormalMixture(1e6 + 1e-2 * MEANS, 1e-2 * SCALES)
    moved = 1e6 + 1e-2 * VALUES
    np.testing.assert_allclose(
        far.probability_below(moved), MIXTURE.probability_below(VALUES), atol=1e-5
    )
    np.testing.assert_allclose(far.crps(moved), 1e-2 * MIXTURE.crps(VALUES), rtol=1e-4)
    np.testing.assert_allclose(
        far.quantile(0.3), 1e6 + 1e-2 * MIXTURE.quantile(0.3), rtol=0, atol=1e-6
    )


def test_a_mixture_gives_the_same_inside_jit_and_for_many_series_at_once():
    def summary(means, scales, values):
        mixture = NormalMixture(means, scales)
        return mixture.probability_below(values), mixture.crps(values), mixture.quantile(0.3)

    plain = summary(MEANS, SCALES, VALUES)
    arguments = [array.astype(np.float32) for array in (MEANS, SCALES, VALUES)]
    many = summary(*(np.stack([array, array[..., ::-1]]) for array in (MEANS, SCALES, VALUES)))
    for one, inside, stacked in zip(plain, jax.jit(summary)(*arguments), many, strict=True):
        np.testing.assert_allclose(inside, one, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(stacked, [one, one[..., ::-1]], rtol=1e-6)


def test_missing_values_stay_missing():
    values = VALUES.copy()
    values[2, 1] = np.nan
    for found in (MIXTURE.log_density, MIXTURE.probability_below, MIXTURE.crps):
        np.testing.assert_array_equal(np.isnan(found(values)), np.isnan(values))


def test_mean_and_spread_of_very_many_components_are_exact():
    """One added to the other in float32, sums round: the mean would be thirty scales off."""
    rng = np.random.default_rng(0)
    means = (3.1 + 1e-4 * rng.standard_normal((100_000, 2, 1))).astype(np.float32)
    mixture = NormalMixture(means, np.full_like(means, 1e-4))
    exact = means.astype(float)
    np.testing.assert_allclose(mixture.mean, exact.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(mixture.std, np.hypot(exact.std(axis=0), 1e-4), rtol=1e-5)
    np.testing.assert_allclose(mixture.spread.loc, exact.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(mixture.spread.scale, exact.std(axis=0, ddof=1), rtol=1e-5)


def test_of_very_many_components_a_bounded_number_is_computed_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    mixture = NormalMixture(rng.standard_normal((100, 5, 2)), rng.uniform(0.1, 1, size=(100, 5, 2)))
    levels, key = [0.05, 0.5, 0.95], jax.random.key(0)
    quantiles, draws = mixture.quantile(levels), draw_components(mixture, key)
    largest = []

    def counted(function, **how):
        run = compiled(function, **how)

        def call(*arguments):
            found = run(*arguments)
            leaves = [leaf for leaf in (*arguments, found) if hasattr(leaf, "shape")]
            largest.append(max(leaf.size for leaf in leaves))
            return found

        return call

    monkeypatch.setattr(distributions, "compiled", counted)
    monkeypatch.setattr(distributions, "NUMBERS_AT_ONCE", 2**10)
    np.testing.assert_allclose(mixture.quantile(levels), quantiles, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(draw_components(mixture, key), draws)
    monkeypatch.setattr(distributions, "MANY_COMPONENTS", 99)  # in room for eight times
    np.testing.assert_array_equal(draw_components(mixture, key), draws)
    assert len(largest) == 2 + 25 + 2  # of 10 cells 8 at once, of 100 components 4, or 64
    assert max(largest) == 2**10
