"""The p-value of being like the family, and where latents lie."""

import jax
import numpy as np
import pytest
from scipy.stats import gamma, norm

from lupi.inference.mixture import NOTHING, fit_mixture, systematic
from lupi.inference.reader import fit_reader
from lupi.inference.surprise import fit_surprise


def test_it_is_a_p_value():
    """Of evidence that follows a known distribution, and beyond all that was seen."""
    rng = np.random.default_rng(0)
    sizes = np.array([2, 8])
    surprise = fit_surprise(sizes, np.stack([rng.normal(size=500), rng.normal(10, 2, 500)]))
    for value in (-1.5, 0.0, 1.0):
        found = float(surprise.p_value(np.array(value, np.float32), np.array(2)))
        assert abs(found - norm.cdf(value)) < 0.05
    assert float(surprise.p_value(np.array(10.0, np.float32), np.array(8))) > 0.4
    far = [
        float(surprise.p_value(np.array(value, np.float32), np.array(2))) for value in (-3, -5, -50)
    ]
    # Of 500 values, what lies below nearly all of them is known to a percent.
    assert 0.02 > far[0] > norm.cdf(-3)
    assert 0.002 > far[1] > far[2] >= 0
    assert float(surprise.p_value(np.array(-50.0, np.float32), np.array(0))) == 1.0


def test_between_and_beyond_the_numbers_of_points_it_is_still_a_p_value():
    """Each point adds 5 nats, and some chance of its own."""
    rng = np.random.default_rng(0)
    sizes = np.array([2, 8, 20])
    surprise = fit_surprise(sizes, np.stack([rng.normal(5 * n, 1, 2000) for n in sizes]))
    for points in (1, 3, 6, 13, 30):
        for shift in (-1.0, 0.0, 1.0):
            value = np.array(5 * points + shift, np.float32)
            found = float(surprise.p_value(value, np.array(points)))
            assert abs(found - norm.cdf(shift)) < 0.07


@pytest.mark.parametrize(("held_out", "most"), [(10, 0.04), (40, 0.013), (100, 0.01)])
def test_few_held_out_series_raise_few_false_alarms(held_out, most):
    """Of systems of the same family, on average over many sets of held-out ones, below 1 %."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(60):
        # Each series four times, nearly the same each time: as many series, not as many contexts.
        evidence = np.repeat(-rng.gamma(2.0, size=held_out), 4)
        evidence = evidence + 0.01 * rng.standard_normal(4 * held_out)
        surprise = fit_surprise(np.array([5]), evidence[None], num_series=held_out)
        # With 64 levels, 1 % lies between the first two of them.
        levels = np.log([0.5 / 64, 1.5 / 64])
        lowest = np.interp(np.log(0.01), levels, surprise.quantiles[0, :2])
        shares.append(gamma.sf(-lowest, 2.0))
    assert 0.001 < np.mean(shares) < most


def number(mixture) -> int:
    """Of Gaussians that count."""
    return int((mixture.log_weights > NOTHING).sum())


def test_a_curve_takes_several_gaussians_and_a_cloud_takes_one():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, 400)
    curve = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    blur = 1e-4 * np.eye(2)
    assert number(fit_mixture(curve, blur)) >= 4
    cloud = fit_mixture(rng.standard_normal((400, 2)), blur)
    assert number(cloud) == 1
    factor = np.asarray(cloud.factors[0])
    np.testing.assert_allclose(factor @ factor.T, np.eye(2), atol=0.15)
    # Half way between neighbours on the curve is likely, its centre is not.
    mixture = fit_mixture(curve, blur)
    on, off = mixture.log_density(np.array([0.0, 1.0])), mixture.log_density(np.array([0.0, 0.4]))
    assert on - off > 5


def test_choices_are_as_often_as_their_weights_say():
    weights = np.array([0.5, 0.2, 0.3, 0.0])
    picks = systematic(np.log(weights + 1e-30), 1000, jax.random.key(0))
    counts = np.bincount(picks, minlength=4)
    assert np.abs(counts - 1000 * weights).max() <= 1


def test_a_value_that_trajectories_tell_is_read_and_one_that_they_do_not_is_not():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 20)
    k = rng.uniform(1, 4, 200)
    trajectories = np.sin(k[:, None] * t)[..., None].astype(np.float32)
    lottery = rng.standard_normal(200)
    known = k.copy()
    known[::5] = np.nan
    reader = fit_reader(trajectories[:150], np.stack([known, lottery], axis=1)[:150])
    found = jax.vmap(reader)(trajectories[150:])
    assert np.abs(np.asarray(found.loc)[:, 0] - k[150:]).max() < 0.02
    assert found.scale[0, 0] < 0.01
    assert 0.8 < found.scale[0, 1] < 1.2
    assert np.abs(np.asarray(found.loc)[:, 1]).max() < 1.0
