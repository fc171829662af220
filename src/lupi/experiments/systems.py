"""The systems of one run: simulated, or the series of a table."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.data import Observations, RaggedTasks, SeriesTable, Task, generate_tasks
from lupi.data.between import with_points_between
from lupi.data.held_out import hold_out
from lupi.errors import UserError
from lupi.experiments.controls import controlled
from lupi.experiments.experiment import Experiment, Shift, Simulation
from lupi.experiments.settings import RunSettings
from lupi.ideal import IdealObserver
from lupi.metrics import Estimate, estimate, mean_over_columns, squared_error
from lupi.models import MeanTrajectory
from lupi.prediction import predict_many


class RunData(NamedTuple):
    """Systems to learn from and systems to be judged on."""

    training: Task | RaggedTasks
    validation: Task | RaggedTasks
    test: Task
    times: Float[np.ndarray, "*system time"]
    """Of the test systems, in original units; one row where all have the same."""
    floor: Estimate
    """The squared error of the mean training trajectory on the test systems: what a model scores
    that cannot tell systems apart."""
    ideal: Callable[[], IdealObserver] | None = None
    """Who knows the equations and the noise, the limit of any forecast, made when it is asked for;
    of simulated systems."""


def make_data(experiment: Experiment, settings: RunSettings, *, key: PRNGKeyArray) -> RunData:
    """All systems of a run; what is learnt from has privileged values as its control has them."""
    if isinstance(experiment.source, SeriesTable):
        data = _divide(experiment.source, settings, key)
    else:
        data = _simulate(experiment.source, settings, key)
    keys, control = jax.random.split(jax.random.fold_in(key, 1)), settings.data.privileged
    return data._replace(
        training=controlled(data.training, control, key=keys[0]),
        validation=controlled(data.validation, control, key=keys[1]),
    )


def make_lessons(data: RunData, settings: RunSettings, *, key: PRNGKeyArray) -> Task | RaggedTasks:
    """What a process is trained on: the training series, and what is known to lie between.

    The family is learnt from the training series alone: to an encoder, twice as many points as it
    was trained with are another system.
    """
    if not settings.data.between or isinstance(data.training, RaggedTasks):
        return data.training
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    return with_points_between(data.training, rng=rng)


def _simulate(source: Simulation, settings: RunSettings, key: PRNGKeyArray) -> RunData:
    """Simulate all systems of a run.

    Training and test series lie on different grids; each system is simulated once, on both, which
    also gives the mean training trajectory at the test times without interpolation.
    """
    sizes, evaluation = settings.data, settings.evaluation
    training_grid = np.linspace(0.0, source.horizon, sizes.num_times)
    test_grid = np.linspace(0.0, source.horizon, evaluation.num_times)
    grid = np.union1d(training_grid, test_grid)
    num_seen = sizes.num_training + sizes.num_validation
    everything = generate_tasks(
        source.system,
        grid,
        num_seen + evaluation.num_systems,
        time_unit=source.horizon,
        key=key,
    )
    noise = sizes.noise * everything.observations.ys.std(axis=(0, 1))
    everything = _with_noise(everything, noise, key)
    at_training = np.searchsorted(grid, training_grid)
    at_test = np.searchsorted(grid, test_grid)
    test = _select(everything, slice(num_seen, None), at_test)
    return RunData(
        training=_select(everything, slice(sizes.num_training), at_training),
        validation=_select(everything, slice(sizes.num_training, num_seen), at_training),
        test=test,
        times=test.observations.ts[0] * source.horizon,
        floor=_floor(_select(everything, slice(sizes.num_training), at_test), test, key),
        ideal=lambda: IdealObserver.of(source.system, horizon=source.horizon, noise=noise, key=key),
    )


def make_shifted(
    experiment: Experiment, shift: Shift, settings: RunSettings, *, key: PRNGKeyArray
) -> Task:
    """Test systems unlike those of training, in its units."""
    source, evaluation = experiment.source, settings.evaluation
    assert isinstance(source, Simulation)  # a table has one family
    grid = np.linspace(0.0, shift.horizons * source.horizon, evaluation.num_times)
    system = shift.system or source.system
    number = evaluation.num_systems
    tasks = generate_tasks(system, grid, number, time_unit=source.horizon, key=key)
    noise = max(shift.noise, settings.data.noise) * tasks.observations.ys.std(axis=(0, 1))
    return _with_noise(tasks, noise, key)


def _with_noise(tasks: Task, noise: Float[np.ndarray, " observation"], key: PRNGKeyArray) -> Task:
    """The same systems, observed less exactly."""
    if not noise.any():
        return tasks
    seen = tasks.observations
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    ys = seen.ys + noise * rng.standard_normal(seen.ys.shape)
    return Task(Observations(seen.ts, ys.astype(np.float32)), tasks.privileged)


def _select(tasks: Task, systems: slice, times: np.ndarray) -> Task:
    observations = jax.tree.map(lambda leaf: leaf[systems, times], tasks.observations)
    return Task(observations, tasks.privileged[systems])


def _divide(series: SeriesTable, settings: RunSettings, key: PRNGKeyArray) -> RunData:
    """Divide the series of a table at random, in the units that those to train on call for."""
    check_number(series, settings)
    normalisation, training, (test, validation), _ = hold_out(
        series,
        [settings.evaluation.num_systems, settings.data.num_validation],
        num_training=settings.data.num_training,
        rng=np.random.default_rng(np.asarray(jax.random.key_data(key))),
    )
    padded = test.padded()
    return RunData(
        training=training,
        validation=validation,
        test=padded,
        times=normalisation.to_original_times(padded.observations.ts),
        floor=_floor(training.padded(), padded, key),
    )


def check_number(series: SeriesTable, settings: RunSettings) -> None:
    """Raise if there are fewer series than the settings ask for."""
    sizes, num_test = settings.data, settings.evaluation.num_systems
    number = sizes.num_training + sizes.num_validation + num_test
    if len(series) < number:
        raise UserError(
            f"the settings ask for {number} series ({sizes.num_training} to train on, "
            f"{sizes.num_validation} to validate on, {num_test} to test on), the table has "
            f"{len(series)}: ask for fewer, give more, or let `table_settings` choose."
        )


def _floor(training: Task, test: Task, key: PRNGKeyArray) -> Estimate:
    floor, seen = MeanTrajectory.of(training), test.observations
    known = np.broadcast_to(seen.known, seen.ys.shape)
    prediction = predict_many(floor, seen, seen.ts, num_samples=1, keys=key)
    errors = squared_error(prediction, seen.ys, known)
    return estimate(mean_over_columns(errors, known.sum(axis=-2)))
