import jax
import numpy as np

from lupi.data import generate_tasks
from lupi.systems import DampedOscillators, simulate


def test_tasks_hold_the_simulated_series_with_times_in_the_asked_unit():
    system = DampedOscillators(privileged=("k", "c"))
    times = np.linspace(0.0, 10.0, 6)
    tasks = generate_tasks(system, times, 3, time_unit=10.0, key=jax.random.key(0))
    reference = simulate(system, times, 3, key=jax.random.key(0))
    np.testing.assert_allclose(tasks.observations.ts, np.tile(times / 10, (3, 1)), rtol=1e-6)
    np.testing.assert_allclose(tasks.observations.ys, reference.observed, rtol=1e-6)
    np.testing.assert_allclose(tasks.privileged, [[0.5, 1.0]] * 3)
    assert tasks.observations.mask.all()


def test_tasks_are_counted_and_picked_along_their_leading_axis(tasks):
    assert len(tasks) == 12
    assert len(tasks[3:5]) == 2
    np.testing.assert_array_equal(tasks[3:5].observations.ys[1], tasks[4].observations.ys)
