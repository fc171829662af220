"""What controls do to privileged values, and to nothing else."""

import jax
import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.experiments import get_experiment, quick_settings
from lupi.experiments.controls import controlled, describe_control
from lupi.experiments.settings import DataSettings
from lupi.experiments.systems import make_data

KEY = jax.random.key(0)


def tasks(values) -> Task:
    values = np.asarray(values, np.float32)
    ts = np.zeros((len(values), 2), np.float32)
    return Task(Observations(ts, ts[..., None]), values)


@pytest.fixture(scope="module")
def many():
    """Two columns of different size, a tenth of the second unknown."""
    values = np.random.default_rng(5).normal([3.0, -40.0], [0.5, 8.0], (2000, 2))
    values[::10, 1] = np.nan
    return tasks(values)


def columns(values):
    return np.nanmean(values, axis=0), np.nanstd(values, axis=0)


def test_shuffled_values_are_those_of_other_systems_row_by_row(many):
    found = controlled(many, "shuffled", key=KEY).privileged
    assert (found != many.privileged)[:, 0].mean() > 0.9
    order = [np.argsort(part[:, 0]) for part in (found, many.privileged)]
    np.testing.assert_array_equal(found[order[0]], many.privileged[order[1]])


def test_constant_values_are_the_mean(many):
    found = controlled(many, "constant", key=KEY).privileged
    mean, _ = columns(many.privileged)
    assert np.nanmax(np.abs(found - mean)) < 1e-4


def test_noise_has_the_mean_and_the_deviation_of_the_values_and_tells_nothing_of_them(many):
    found = controlled(many, "noise", key=KEY).privileged
    for ours, theirs in zip(columns(found), columns(many.privileged), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.1)
    assert abs(np.corrcoef(found[:, 0], many.privileged[:, 0])[0, 1]) < 0.08


@pytest.mark.parametrize("size", [0.25, 2.0])
def test_corruption_is_in_standard_deviations_of_each_value(many, size):
    found = controlled(many, size, key=KEY).privileged
    deviation = np.nanstd(found - many.privileged, axis=0)
    np.testing.assert_allclose(deviation, size * columns(many.privileged)[1], rtol=0.1)


@pytest.mark.parametrize("control", ["constant", "noise", 0.5])
def test_what_is_not_known_stays_unknown(many, control):
    found = controlled(many, control, key=KEY).privileged
    np.testing.assert_array_equal(np.isnan(found), np.isnan(many.privileged))


def test_only_what_is_learnt_from_is_changed():
    settings, experiment = quick_settings().experiments["stiffness"], get_experiment("stiffness")
    true = make_data(experiment, settings, key=KEY)
    changed = settings.model_copy(
        update={"data": settings.data.model_copy(update={"privileged": 1.0})}
    )
    false = make_data(experiment, changed, key=KEY)
    np.testing.assert_array_equal(true.test.privileged, false.test.privileged)
    for part in ("training", "validation", "test"):
        ours, theirs = (getattr(data, part).observations for data in (true, false))
        np.testing.assert_array_equal(ours.ys, theirs.ys)
    for part in ("training", "validation"):
        assert (getattr(true, part).privileged != getattr(false, part).privileged).all()


def test_controls_are_said_in_words_and_others_are_refused():
    assert describe_control(0.5) == "with noise of 0.5 std added"
    assert describe_control("shuffled") == "shuffled between systems"
    for wrong in ("shufled", 0.0, -1.0, float("inf")):
        with pytest.raises(ValueError, match="privileged"):
            DataSettings(privileged=wrong)
