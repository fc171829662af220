"""Tasks made by simulating a system."""

import math

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.data.series_table import Columns, SeriesTable
from lupi.systems import System, simulate


def generate_tasks(
    system: System,
    times: Float[np.ndarray, " time"],
    num_tasks: int,
    *,
    time_unit: float = 1.0,
    key: PRNGKeyArray,
) -> Task:
    """Simulate `num_tasks` members of a family: one `Task` with a leading axis over them.

    The model sees times divided by `time_unit`; the paper shows it a horizon of 10 as [0, 1].
    """
    trajectories = simulate(system, times, num_tasks, key=key)
    shape = trajectories.observed.shape[:2]
    ts = np.broadcast_to(trajectories.times / time_unit, shape)
    ts, ys, privileged = (
        np.ascontiguousarray(part, np.float32)
        for part in (ts, trajectories.observed, trajectories.privileged)
    )
    return Task(Observations(ts, ys), privileged)


GRID = 1000
"""Times, at least, among which irregular series choose theirs."""


def simulate_table(
    system: System,
    num_series: int,
    *,
    horizon: float,
    num_points: int,
    noise: float = 0.0,
    irregular: bool = False,
    key: PRNGKeyArray,
) -> SeriesTable:
    """A table of simulated series, as a user might have measured it.

    `noise` is in units of each column's standard deviation. Irregular series have from half to all
    of `num_points`, each at its own random times.
    """
    system_key, sampling_key = jax.random.split(key)
    times = np.linspace(0.0, horizon, max(GRID, 2 * num_points) if irregular else num_points)
    trajectories = simulate(system, times, num_series, key=system_key)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(sampling_key)))
    lengths = np.full(num_series, num_points)
    if irregular:
        lengths = rng.integers(math.ceil(num_points / 2), num_points, num_series, endpoint=True)
        chosen = [np.sort(rng.choice(times.size, n, replace=False)) for n in lengths]
    else:
        chosen = [np.arange(times.size)] * num_series
    values = np.concatenate([ys[i] for ys, i in zip(trajectories.observed, chosen, strict=True)])
    values = values + noise * values.std(axis=0) * rng.standard_normal(values.shape)
    return SeriesTable(
        Columns(series="series", time="t", observed=system.observed, privileged=system.privileged),
        np.arange(num_series),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([times[i] for i in chosen]),
        values,
        trajectories.privileged,
    )
