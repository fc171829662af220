"""The Gaussian process of one series, against scikit-learn and another form of a kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern
from tinygp.kernels import quasisep

from lupi.plain.posterior import GRID as FINE
from lupi.plain.posterior import draw_functions, observed_covariance
from lupi.rivals.kernels import CENTRES, KERNELS, LEAST_NOISE, USED, WIDTHS, kernel_of
from lupi.rivals.series_gp import MOST_POINTS, choose, negative_log_posterior

LEVEL, COURSE, LENGTH, NOISE, PERIOD, ROUGHNESS = VALUES = 0.7, 1.2, 0.3, 0.1, 0.4, 1.5
LOGS = np.log(VALUES).astype(np.float32)
TS, YS = np.array([0.1, 0.25, 0.4, 0.8]), np.array([0.5, 0.2, -1.0, 2.0])
GRID = np.linspace(0, 1, 21)
PERIODIC = ExpSineSquared(np.sqrt(2 / ROUGHNESS), PERIOD)  # exp(-2 sin² / length²) there
OTHERS = {
    "matern-5/2": Matern(LENGTH, nu=2.5),
    "squared exponential": RBF(LENGTH),
    "quasi-periodic": RBF(LENGTH) * PERIODIC,
}


def others(name: str):
    kernel = ConstantKernel(LEVEL**2) + ConstantKernel(COURSE**2) * OTHERS[name]
    noise = NOISE + LEAST_NOISE * COURSE
    regressor = GaussianProcessRegressor(kernel, alpha=noise**2 + 1e-6, optimizer=None)
    return regressor.fit(TS[:, None], YS), noise


@eqx.filter_jit
def functions(kind, logs, noise, ts, ys, known, times):
    kernel = kernel_of(kind, logs)
    covariance = observed_covariance(kernel, noise**2, ts, known)
    normals = jax.random.normal(jax.random.key(0), (64, FINE))
    return draw_functions(kernel, covariance, ts, ys, times, normals, horizon=1)


def single(*arrays):
    return (np.asarray(array, np.float32) for array in arrays)


@pytest.mark.parametrize("name", OTHERS)
def test_on_fixed_hyperparameters_it_is_what_another_library_gives(name):
    regressor, noise = others(name)
    mean, std = regressor.predict(GRID[:, None], return_std=True)
    kind = jnp.array(KERNELS.index(name))
    ts, ys, times = single(TS, YS, GRID)
    found = functions(kind, LOGS, jnp.array(noise), ts, ys, np.ones(4, bool), times)
    np.testing.assert_allclose(found.mean(axis=0), mean, atol=1e-4)
    np.testing.assert_allclose(found.std(axis=0), std, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", OTHERS)
def test_what_chooses_is_the_marginal_likelihood_of_another_library_and_the_prior(name):
    regressor, _ = others(name)
    kind = KERNELS.index(name)
    priors = stats.norm(CENTRES, WIDTHS).logpdf(LOGS)[USED[kind]]
    loss = eqx.filter_jit(negative_log_posterior)
    found = loss(jnp.array(kind), *single(LOGS, TS, YS), np.ones(4, bool))
    expected = -regressor.log_marginal_likelihood_value_ - priors.sum()
    assert float(found) == pytest.approx(expected, abs=1e-3)


def test_a_damped_oscillation_has_the_kernel_of_a_driven_harmonic_oscillator():
    decay, angular = 1 / LENGTH, 2 * np.pi / PERIOD
    omega = np.hypot(decay, angular)
    other = quasisep.SHO(omega, omega / (2 * decay), COURSE)
    ours = kernel_of(jnp.array(KERNELS.index("damped oscillation")), jnp.asarray(LOGS))
    ts = jnp.asarray(GRID, jnp.float32)
    np.testing.assert_allclose(ours(ts, ts), LEVEL**2 + other(ts, ts), atol=1e-4)


@pytest.fixture(scope="module")
def wave():
    """Points of a wave in the first 0.6 of the time, more than are learnt from, and padding."""
    known = np.arange(80) < 68
    assert known.sum() > MOST_POINTS
    ts, ys = single(np.where(known, np.linspace(0.0, 0.7, 80), 0), np.zeros(80))
    ys = np.where(known, np.sin(2 * np.pi * ts / 0.3), ys)
    return ts, ys, known, *eqx.filter_jit(choose)(ts, ys, known)


def test_an_oscillation_is_recognised_and_its_period_found(wave):
    *_, kind, logs = wave
    assert KERNELS[int(kind)] in ("quasi-periodic", "damped oscillation")
    assert np.exp(logs[4]) == pytest.approx(0.3, rel=0.05)


def test_an_oscillation_goes_on_where_nothing_was_seen(wave):
    ts, ys, known, kind, logs = wave
    (later,) = single(np.linspace(0.65, 0.8, 16))
    found = functions(kind, logs, jnp.exp(logs[3]), ts, ys, known, later)
    np.testing.assert_allclose(found.mean(axis=0), np.sin(2 * np.pi * later / 0.3), atol=0.25)
