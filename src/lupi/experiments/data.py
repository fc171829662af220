"""The systems of one run."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi.data import Task, generate_tasks
from lupi.experiments.settings import RunSettings
from lupi.experiments.tasks import PaperTask
from lupi.metrics import Estimate, estimate


class RunData(NamedTuple):
    """Systems to learn from and systems to be judged on."""

    training: Task
    validation: Task
    test: Task
    floor: Estimate
    """The squared error of the mean training trajectory on the test systems: what a model scores
    that cannot tell systems apart."""


def make_data(task: PaperTask, settings: RunSettings, *, key: PRNGKeyArray) -> RunData:
    """Simulate all systems of a run.

    Training and test series lie on different grids; each system is simulated once, on both, which
    also gives the mean training trajectory at the test times without interpolation.
    """
    sizes, evaluation = settings.data, settings.evaluation
    training_grid = np.linspace(0.0, task.horizon, sizes.num_times)
    test_grid = np.linspace(0.0, task.horizon, evaluation.num_times)
    grid = np.union1d(training_grid, test_grid)
    num_seen = sizes.num_training + sizes.num_validation
    everything = generate_tasks(
        task.system, grid, num_seen + evaluation.num_systems, time_unit=task.horizon, key=key
    )
    at_training = np.searchsorted(grid, training_grid)
    at_test = np.searchsorted(grid, test_grid)
    test = _select(everything, slice(num_seen, None), at_test)
    seen = _select(everything, slice(sizes.num_training), at_test)
    mean_trajectory = np.asarray(seen.observations.ys).mean(axis=0)
    ys = np.asarray(test.observations.ys)
    return RunData(
        training=_select(everything, slice(sizes.num_training), at_training),
        validation=_select(everything, slice(sizes.num_training, num_seen), at_training),
        test=test,
        floor=estimate(((mean_trajectory - ys) ** 2).mean(axis=(-2, -1))),
    )


def _select(tasks: Task, systems: slice, times: np.ndarray) -> Task:
    # NumPy: jax.numpy would compile a selection for every shape.
    tasks = jax.device_get(tasks)
    observations = jax.tree.map(lambda leaf: leaf[systems, times], tasks.observations)
    return Task(*jax.device_put((observations, tasks.privileged[systems])))
