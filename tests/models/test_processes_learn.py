"""Does every model of the registry learn to tell systems apart?"""

from typing import NamedTuple

import jax
import numpy as np
import pytest

from lupi.data import Observations, Task, generate_tasks
from lupi.evaluation import draw_contexts
from lupi.experiments import EXPERIMENTS
from lupi.models import MeanTrajectory, build_process
from lupi.prediction import predict_many
from lupi.registry import MODELS
from lupi.training import TrainingSettings, fit


class Lessons(NamedTuple):
    training: Task
    test: Task
    contexts: Observations


@pytest.fixture(scope="module")
def lessons():
    source = EXPERIMENTS["lotka-volterra"].source
    times = np.linspace(0, source.horizon, 41)
    keys = jax.random.split(jax.random.key(2), 3)
    training, test = (
        generate_tasks(source.system, times, number, time_unit=source.horizon, key=key)
        for number, key in zip((200, 64), keys, strict=False)
    )
    return Lessons(training, test, draw_contexts(test.observations, (5, 9), key=keys[2]))


def error(guesses, test: Task) -> float:
    return float(((np.asarray(guesses) - np.asarray(test.observations.ys)) ** 2).mean())


def share_of_the_floor(name: str, lessons: Lessons, epochs: int) -> float:
    """The error on new systems after a short training, beside that of the mean trajectory."""
    model, test = MODELS[name], lessons.test
    process = build_process(
        model.process,
        observation_size=2,
        privileged_size=model.privileged_size(1),
        key=jax.random.key(0),
    )
    settings = TrainingSettings(
        epochs=epochs, batch_size=8, learning_rate=5e-3, max_gradient=10.0, decay=True
    )
    fitted = fit(
        process,
        lessons.training,
        test[:4],
        settings=settings.model_copy(update={"validations": 1}),
        objective=model.objective,
        key=jax.random.key(1),
    )
    found = predict_many(
        fitted.process,
        lessons.contexts,
        test.observations.ts,
        num_samples=32,
        keys=jax.random.key(5),
    )
    mean = MeanTrajectory.of(lessons.training).at(test.observations.ts[0])
    return error(found.mean, test) / error(np.broadcast_to(mean, found.mean.shape), test)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_short_training_beats_the_mean_trajectory(name, lessons):
    assert share_of_the_floor(name, lessons, epochs=80) < 0.9


def test_a_shorter_training_of_a_quick_model_does_too(lessons):
    assert share_of_the_floor("anp-lupi", lessons, epochs=20) < 0.9
