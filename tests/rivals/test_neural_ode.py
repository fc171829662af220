"""Neural ODEs of one series, on systems with closed forms."""

from functools import cache

import jax
import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.prediction import predict_many
from lupi.rivals import RIVALS

KINDS = ("neural-ode", "anode", "sonode")
TIMES = np.linspace(0, 1, 101)
SEEN = TIMES <= 0.6


DECAY = np.exp(-3 * TIMES)[:, None]
"""A linear system of one quantity."""

POSITION = np.cos(10 * TIMES)[:, None]
"""Of a harmonic oscillator, whose velocity is not seen."""


@cache
def forecasts(name: str):
    """Of both, from all times until 0.6."""
    ys = np.stack([DECAY, POSITION]).astype(np.float32)
    ts = np.broadcast_to(TIMES.astype(np.float32), (2, 101))
    predictor = RIVALS[name].learn(
        Task(Observations(ts, ys), np.zeros((2, 0), np.float32)), None, jax.random.key(0)
    )
    seen = Observations(ts[:, SEEN], ys[:, SEEN])
    return predict_many(predictor, seen, ts, num_samples=2, keys=jax.random.key(1))


def error(name: str, series: int, truth: np.ndarray, times: np.ndarray) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(np.mean((forecasts(name).mean[series] - truth)[times] ** 2)))


@pytest.mark.parametrize("name", KINDS)
def test_each_fits_and_extrapolates_a_linear_system_that_is_wholly_observed(name):
    assert error(name, 0, DECAY, SEEN) < 0.02
    assert error(name, 0, DECAY, ~SEEN) < 0.1


@pytest.mark.parametrize("name", ["anode", "sonode"])
def test_with_more_than_positions_it_fits_and_extrapolates_their_oscillation(name):
    assert error(name, 1, POSITION, SEEN) < 0.05
    assert error(name, 1, POSITION, ~SEEN) < 0.25


def test_a_vanilla_one_cannot_follow_an_oscillation_of_positions():
    """It would have to go both ways from the same place."""
    assert error("neural-ode", 1, POSITION, SEEN) > 0.4
    assert error("neural-ode", 1, POSITION, ~SEEN) > 0.5


@pytest.mark.parametrize("name", KINDS)
def test_it_has_one_scale_and_no_spread(name):
    found = forecasts(name)
    assert (np.asarray(found.spread.scale) == 0).all()
    assert (np.asarray(found.scales) == found.scales[:, :, :1]).all()
