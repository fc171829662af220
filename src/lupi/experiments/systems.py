"""The systems of one run."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi.data import Task, generate_tasks
from lupi.experiments.paper import Experiment
from lupi.experiments.settings import RunSettings
from lupi.metrics import Estimate, estimate, squared_error
from lupi.models import MeanTrajectory
from lupi.prediction import predict_many


class RunData(NamedTuple):
    """Systems to learn from and systems to be judged on."""

    training: Task
    validation: Task
    test: Task
    floor: Estimate
    """The squared error of the mean training trajectory on the test systems: what a model scores
    that cannot tell systems apart."""


def make_data(experiment: Experiment, settings: RunSettings, *, key: PRNGKeyArray) -> RunData:
    """Simulate all systems of a run.

    Training and test series lie on different grids; each system is simulated once, on both, which
    also gives the mean training trajectory at the test times without interpolation.
    """
    sizes, evaluation = settings.data, settings.evaluation
    training_grid = np.linspace(0.0, experiment.horizon, sizes.num_times)
    test_grid = np.linspace(0.0, experiment.horizon, evaluation.num_times)
    grid = np.union1d(training_grid, test_grid)
    num_seen = sizes.num_training + sizes.num_validation
    everything = generate_tasks(
        experiment.system,
        grid,
        num_seen + evaluation.num_systems,
        time_unit=experiment.horizon,
        key=key,
    )
    at_training = np.searchsorted(grid, training_grid)
    at_test = np.searchsorted(grid, test_grid)
    test = _select(everything, slice(num_seen, None), at_test)
    floor = MeanTrajectory.of(_select(everything, slice(sizes.num_training), at_test))
    seen = test.observations
    prediction = predict_many(floor, seen, seen.ts, num_samples=1, keys=key)
    errors = squared_error(prediction, seen.ys, np.broadcast_to(seen.known, seen.ys.shape))
    return RunData(
        training=_select(everything, slice(sizes.num_training), at_training),
        validation=_select(everything, slice(sizes.num_training, num_seen), at_training),
        test=test,
        floor=estimate(errors.mean(axis=-1)),
    )


def _select(tasks: Task, systems: slice, times: np.ndarray) -> Task:
    observations = jax.tree.map(lambda leaf: leaf[systems, times], tasks.observations)
    return Task(observations, tasks.privileged[systems])
