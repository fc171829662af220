"""The mean of training systems at each time, whatever times they were observed at."""

import jax
import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.errors import UserError
from lupi.models import MeanTrajectory
from lupi.models.mean_trajectory import MOST_TIMES, SMALLEST_STD
from lupi.prediction import predict


def task(ts, ys, mask=None, gaps=None) -> Task:
    seen = Observations(
        np.asarray(ts, np.float32),
        np.asarray(ys, np.float32),
        None if mask is None else np.asarray(mask),
        gaps,
    )
    return Task(seen, np.zeros((len(seen.ts), 0), np.float32))


def irregular(num_tasks: int, num_times: int, *, seed: int = 0) -> Task:
    """Sines of random height in no order, the second column with gaps, some points padding."""
    rng = np.random.default_rng(seed)
    ts = rng.uniform(0, 1, (num_tasks, num_times))
    height = rng.uniform(1, 2, (num_tasks, 1))
    ys = np.stack([height * np.sin(3 * ts), height * ts], axis=-1)
    gaps = np.zeros(ys.shape, bool)
    gaps[..., 1] = rng.uniform(size=ts.shape) < 0.3
    mask = np.arange(num_times) < rng.integers(2, num_times, (num_tasks, 1), endpoint=True)
    ys[~mask] = 1e6
    return task(ts, np.where(gaps, -1e6, ys), mask, gaps)


def expected(tasks: Task, time: float, column: int) -> np.ndarray:
    """What each system that reaches it is at a time, by NumPy's interpolation."""
    found = []
    for ts, ys, known in zip(
        tasks.observations.ts, tasks.observations.ys, tasks.observations.known, strict=True
    ):
        there = known[:, column]
        if there.any() and ts[there].min() <= time <= ts[there].max():
            order = np.argsort(ts[there])
            found.append(np.interp(time, ts[there][order], ys[there, column][order]))
    return np.array(found)


def test_at_the_same_times_it_is_the_mean_to_the_last_bit(tasks):
    found = MeanTrajectory.of(tasks)
    ys = tasks.observations.ys
    np.testing.assert_array_equal(found.ts, tasks.observations.ts[0])
    np.testing.assert_array_equal(found.mean, ys.mean(axis=0))
    np.testing.assert_array_equal(found.std, np.maximum(ys.std(axis=0), SMALLEST_STD))


def test_with_own_times_padding_and_gaps_it_is_the_mean_of_numpys_interpolations():
    tasks = irregular(12, 9)
    found = MeanTrajectory.of(tasks)
    assert (np.diff(found.ts) > 0).all()
    for column in range(2):
        compared = 0
        for time, mean, std in zip(
            found.ts, found.mean[:, column], found.std[:, column], strict=True
        ):
            values = expected(tasks, time, column)
            if len(values) > 1:
                compared += 1
                assert mean == pytest.approx(values.mean(), rel=1e-5)
                assert std == pytest.approx(max(values.std(), SMALLEST_STD), rel=1e-4, abs=1e-5)
        assert compared > 20


def test_more_times_than_the_grid_may_have_are_met_in_straight_lines():
    tasks = irregular(60, 40)
    found = MeanTrajectory.of(tasks)
    assert len(found.ts) == MOST_TIMES
    times = np.linspace(0.2, 0.8, 50, dtype=np.float32)
    context = Observations.none(2)
    prediction = predict(found, context, times, key=jax.random.key(0))
    for column in range(2):
        values = [expected(tasks, time, column).mean() for time in times]
        np.testing.assert_allclose(prediction.mean[:, column], values, atol=5e-3)


def test_times_that_no_system_reaches_are_bridged():
    apart = task([[0.0, 0.2], [0.6, 1.0]], [[[0.0], [2.0]], [[4.0], [8.0]]])
    found = MeanTrajectory.of(apart)
    prediction = predict(
        found, Observations.none(1), np.array([0.1, 0.4, 0.8, 2.0]), key=jax.random.key(0)
    )
    np.testing.assert_allclose(prediction.mean[:, 0], [1.0, 3.0, 6.0, 8.0], rtol=1e-6)


def test_where_one_system_is_alone_the_scatter_is_that_of_others_beside_it():
    ts = [[0.0, 0.5, 0.5], [0.0, 0.5, 1.0]]
    ys = [[[0.0], [1.0], [9.0]], [[2.0], [3.0], [4.0]]]
    found = MeanTrajectory.of(task(ts, ys, [[True, True, False], [True, True, True]]))
    np.testing.assert_allclose(found.mean[:, 0], [1.0, 2.0, 4.0])
    np.testing.assert_allclose(found.std[:, 0], [1.0, 1.0, 1.0])


def test_a_quantity_without_any_value_is_refused():
    gaps = np.zeros((2, 3, 2), bool)
    gaps[..., 1] = True
    empty = task(np.tile([0.0, 0.5, 1.0], (2, 1)), np.zeros((2, 3, 2)), gaps=gaps)
    with pytest.raises(UserError, match="has no value in all of the systems: leave it out"):
        MeanTrajectory.of(empty)


@pytest.mark.parametrize("own_times", [False, True])
def test_one_system_scatters_as_its_values_do(own_times):
    ts = np.linspace(0, 1, 5, dtype=np.float32)[None]
    ys = np.array([[[0.0], [2.0], [4.0], [2.0], [0.0]]], np.float32)
    gaps = np.zeros(ys.shape, bool) if own_times else None
    found = MeanTrajectory.of(Task(Observations(ts, ys, gaps=gaps), np.zeros((1, 0), np.float32)))
    np.testing.assert_allclose(found.std, ys.std(), rtol=1e-5)
