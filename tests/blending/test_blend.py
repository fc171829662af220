"""Parts of a blend, each as much as it is worth."""

import jax
import numpy as np
import pytest

from lupi.blending import Blend, Calibration, Ensemble, InUnits, Share, Units
from lupi.blending.blend import which_part
from lupi.data import Observations
from lupi.data.normalisation import Normalisation
from lupi.models import MeanTrajectory

RNG = np.random.default_rng(1)
TIMES = np.linspace(0, 1, 5, dtype=np.float32)
NOTHING = Observations.none(1)


def trajectory(level: float, scale: float = 1.0) -> MeanTrajectory:
    grid = np.array([0.0, 1.0], np.float32)
    values = np.array([[level], [level + 1]], np.float32)
    return MeanTrajectory(grid, values, np.full((2, 1), scale, np.float32))


def ask(predictor, num_samples: int = 64):
    how = {"num_samples": num_samples, "horizon": 1, "key": jax.random.key(0)}
    return predictor.predict(NOTHING, TIMES, **how)


@pytest.mark.parametrize("number", [8, 16, 64])
def test_samples_are_shared_out_by_weight_from_the_first_few_on(number):
    weights = np.array([0.5, 0.3, 0.2])
    counts = np.bincount(np.asarray(which_part(weights, number)), minlength=3)
    np.testing.assert_allclose(counts / number, weights, atol=1.2 / number)


def test_a_blend_is_the_mixture_of_its_parts():
    parts = (trajectory(0.0, 0.5), trajectory(4.0, 0.1))
    none = Calibration.none()
    shares = (Share.constant(0.75), Share.constant(0.25))
    found = ask(Blend(parts, shares, (none, none), none))
    np.testing.assert_allclose(found.mean[:, 0], TIMES + 1.0, atol=0.07)
    variance = 0.75 * 0.25 + 0.25 * 0.01 + 16 * 0.75 * 0.25
    np.testing.assert_allclose(found.std[:, 0] ** 2, variance, rtol=0.05)


def test_a_blend_weighs_its_parts_by_what_was_seen():
    none = Calibration.none()
    shares = (Share(np.zeros(3, np.float32)), Share(np.array([-1.0, 0.5, 2.0], np.float32)))
    blend = Blend((trajectory(0.0), trajectory(4.0)), shares, (none, none), none)
    times, mask = np.array([0.2, 0.7, 0.9], np.float32), np.array([True, True, False])
    seen = Observations(times, np.zeros((3, 1), np.float32), mask)
    odds = np.exp(-1.0 + 0.5 * np.log(3 / 6) + 2.0 * 0.7)
    np.testing.assert_allclose(blend.weights(seen), [1 / (1 + odds), odds / (1 + odds)], rtol=1e-5)


def normalisation(time: tuple[float, float], value: tuple[float, float]) -> Normalisation:
    return Normalisation(
        time_start=time[0],
        time_scale=time[1],
        own_clock=False,
        observed_mean=(value[0],),
        observed_scale=(value[1],),
        privileged_mean=(),
        privileged_scale=(),
    )


def test_units_of_its_own_do_not_change_what_is_predicted():
    outer, inner = normalisation((2.0, 10.0), (5.0, 2.0)), normalisation((1.0, 12.0), (-3.0, 4.0))
    found = ask(InUnits(trajectory(0.5, 0.3), Units.between(outer, inner)))
    times = inner.to_model_times(outer.to_original_times(TIMES), 0.0)
    expected = ask(trajectory(0.5, 0.3)).mean[:, 0] * 0 + 0.5 + times
    original = outer.to_original_values(np.asarray(found.mean))
    np.testing.assert_allclose(
        original, inner.to_original_values(np.asarray(expected)[:, None]), rtol=1e-5
    )
    np.testing.assert_allclose(2.0 * np.asarray(found.std), 0.3 * 4.0, rtol=1e-5)


def test_an_ensemble_takes_turns():
    same = normalisation((0.0, 1.0), (0.0, 1.0))
    units = Units.between(same, same)
    members = [InUnits(trajectory(level), units) for level in (0.0, 10.0, 20.0)]
    found = ask(Ensemble.of(members), num_samples=3)
    np.testing.assert_allclose(found.means[:, 0, 0], [0.0, 10.0, 20.0])
