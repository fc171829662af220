"""How a run is judged: forecasts that are no numbers, and systems that are strangers."""

from types import SimpleNamespace

import equinox as eqx
import jax
import numpy as np
import pytest

from lupi.errors import UserError
from lupi.experiments import RunFolder, get_experiment, quick_settings
from lupi.experiments.judging import _surprised, judge
from lupi.experiments.lessons import Lesson
from lupi.forecasting import Forecast
from lupi.models import Findings, MeanTrajectory, Prediction

SETTINGS = quick_settings().experiments["stiffness"]


@pytest.fixture(scope="module")
def lesson():
    return Lesson.of(get_experiment("stiffness"), SETTINGS, 0)


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("", "forecasts of lupi on stiffness, seed 0, are not finite for 20 of 20 test systems"),
        (" refined", "forecasts of lupi with the search on .*lupi:amortised"),
    ],
)
def test_forecasts_that_are_no_numbers_fail_and_are_named(lesson, tmp_path, end, message):
    mean = MeanTrajectory.of(lesson.data.training)
    broken = eqx.tree_at(lambda one: one.mean, mean, np.full_like(mean.mean, np.nan))
    predictors = {"": mean, " refined": mean} | {end: broken}
    folder = RunFolder(tmp_path, "stiffness", "lupi", 0)
    experiment = get_experiment("stiffness")
    with pytest.raises(UserError, match=message):
        judge(folder, predictors, lesson, SETTINGS, experiment, seconds={"train": 0.0})
    assert folder.finished() is None


def test_a_stranger_is_what_a_forecast_calls_one():
    surprise = np.array([0.005, 0.02, 0.04, 0.5])
    none = np.zeros((4, 1, 1, 1), np.float32)
    prediction = Prediction(
        none[..., 0, 0],
        none,
        none,
        jax.random.split(jax.random.key(0), 4),
        Findings(None, surprise, surprise, surprise),
    )
    forecast = SimpleNamespace(series=list("abcd"), surprise=surprise)
    assert Forecast.strangers.fget(forecast) == ["a"]  # pyright: ignore[reportOptionalCall]
    assert _surprised(prediction)["strangers"].mean == 1 / 4
