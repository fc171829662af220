"""Plain guesses, against closed forms and another library."""

import jax
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from lupi.data import Observations, Task
from lupi.models import MeanTrajectory
from lupi.plain import PLAIN, LastValue, NearestSeries, PooledGP
from lupi.plain.posterior import LEAST_VARIANCE
from lupi.prediction import predict

RNG = np.random.default_rng(2)
GRID = np.linspace(0, 1, 21, dtype=np.float32)


def tasks_of(ys: np.ndarray) -> Task:
    """Series on the grid."""
    ys = ys.astype(np.float32).reshape(*ys.shape[:2], -1)
    return Task(
        Observations(np.broadcast_to(GRID, ys.shape[:2]), ys, np.ones(ys.shape[:2], bool)),
        np.zeros((len(ys), 0), np.float32),
    )


WALKS = tasks_of(RNG.standard_normal((200, 21)).cumsum(axis=1) / np.sqrt(20))


def ask(predictor, seen: Observations, times):
    return predict(predictor, seen, np.asarray(times), num_samples=64, key=jax.random.key(0))


def observed(ts, ys) -> Observations:
    return Observations(np.array(ts, np.float32), np.array(ys, np.float32).reshape(len(ts), -1))


@pytest.mark.parametrize("name", PLAIN)
def test_each_predicts_from_nothing_from_gaps_and_from_padding(name):
    two = tasks_of(RNG.standard_normal((12, 21, 2)))
    predictor = PLAIN[name].of(two)
    nothing = ask(predictor, Observations.none(2), GRID)
    assert np.isfinite(nothing.mean).all()
    assert (np.asarray(nothing.std) > 0).all()
    ts, ys = np.array([0.2, 0.9], np.float32), np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    gaps = np.array([[False, True], [False, False]])
    other = np.where(gaps, 99.0, ys).astype(np.float32)
    full = np.array([True, True])
    padded = Observations(
        np.append(ts, 0),
        np.vstack([other, [[7.0, 7.0]]]).astype(np.float32),
        np.append(full, False),
        np.vstack([gaps, [[False, False]]]),
    )
    first = ask(predictor, Observations(ts, ys, full, gaps), GRID)
    np.testing.assert_allclose(first.mean, ask(predictor, padded, GRID).mean, atol=1e-4)


def test_the_last_value_of_a_random_walk_spreads_as_the_root_of_time():
    predictor = LastValue.of(WALKS)
    found = ask(predictor, observed([0.1, 0.5], [0.3, -1.0]), [0.3, 0.5, 0.75, 1.0, 0.0])
    np.testing.assert_allclose(found.mean[:, 0], [0.3, -1.0, -1.0, -1.0, 0.3], atol=1e-6)
    np.testing.assert_allclose(found.std[2:4, 0], np.sqrt([0.25, 0.5]), rtol=0.15)


def test_the_nearest_series_is_found():
    levels = np.linspace(-2, 2, 9)[:, None] * (1 + GRID)
    predictor = NearestSeries.of(tasks_of(levels))
    seen = observed(GRID[:6], levels[6, :6])
    np.testing.assert_allclose(ask(predictor, seen, GRID).mean[:, 0], levels[6], atol=0.1)


def test_the_process_is_that_of_another_library():
    flat = MeanTrajectory(GRID, np.zeros((21, 1), np.float32), np.ones((21, 1), np.float32))
    level, course, length, noise = 0.7, 1.2, 0.3, 0.1
    predictor = PooledGP(flat, np.log([[level, course, length, noise]]).astype(np.float32))
    ts, ys = np.array([0.1, 0.4, 0.8]), np.array([0.5, -1.0, 2.0])
    kernel = ConstantKernel(level**2) + ConstantKernel(course**2) * Matern(length, nu=2.5)
    other = GaussianProcessRegressor(kernel, alpha=noise**2, optimizer=None)
    mean, std = other.fit(ts[:, None], ys).predict(GRID[:, None], return_std=True)
    found = ask(predictor, observed(ts, ys), GRID)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=2e-3)
    np.testing.assert_allclose(found.std[:, 0], np.sqrt(std**2 + noise**2), rtol=0.01)


@pytest.mark.parametrize("number", [9, 16, 32, 64, 256])
def test_it_is_that_of_another_library_where_there_is_hardly_any_noise(number):
    flat = MeanTrajectory(GRID, np.zeros((21, 1), np.float32), np.ones((21, 1), np.float32))
    level, course, length, noise = 0.4, 1.1, 0.35, 1e-3  # of springs without noise
    predictor = PooledGP(flat, np.log([[level, course, length, noise]]).astype(np.float32))
    ts = np.linspace(0.02, 0.9, number, dtype=np.float32)
    ys = np.exp(-ts) * np.cos(6 * ts)
    kernel = ConstantKernel(level**2) + ConstantKernel(course**2) * Matern(length, nu=2.5)
    other = GaussianProcessRegressor(kernel, alpha=noise**2 + LEAST_VARIANCE, optimizer=None)
    mean, std = other.fit(ts[:, None], ys).predict(GRID[:, None], return_std=True)
    found = ask(predictor, observed(ts, ys), GRID)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=2e-3)
    np.testing.assert_allclose(found.std[:, 0], np.sqrt(std**2 + noise**2), rtol=0.15, atol=2e-3)


def test_its_hyperparameters_are_those_that_series_were_drawn_with():
    kernel = 0.5**2 + 0.8**2 * Matern(0.25, nu=2.5)(GRID[:, None])
    draws = RNG.multivariate_normal(np.zeros(21), kernel, 64)
    draws += 0.1 * RNG.standard_normal(draws.shape)
    level, course, length, noise = np.exp(PooledGP.of(tasks_of(draws)).logs[0])
    assert course == pytest.approx(0.8, rel=0.25)
    assert length == pytest.approx(0.25, rel=0.25)
    assert noise == pytest.approx(0.1, rel=0.1)
    assert level == pytest.approx(0.5, rel=0.5)
