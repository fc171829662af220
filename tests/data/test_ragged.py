"""Tasks of different lengths, padded when some of them are taken."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lupi.data import Observations, RaggedTasks

LENGTHS = (3, 50, 1, 4)


def ragged(lengths=LENGTHS, *, gaps: bool = False) -> RaggedTasks:
    """Tasks whose values say which task they are of and which of its points."""
    task = np.repeat(np.arange(len(lengths)), lengths)
    point = np.concatenate([np.arange(length) for length in lengths])
    ts = (point / max(lengths)).astype(np.float32)
    ys = np.stack([1 + task, point], axis=1).astype(np.float32)
    missing = np.stack([point % 2 == 1, np.zeros(len(point), bool)], axis=1) if gaps else None
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    privileged = np.arange(len(lengths), dtype=np.float32)[:, None]
    return RaggedTasks(Observations(ts, ys, gaps=missing), offsets, privileged)


def take(tasks: RaggedTasks, chosen, length: int, seed: int = 0):
    return tasks.take(np.array(chosen), length=length, rng=np.random.default_rng(seed))


def test_tasks_are_counted_and_so_are_their_points():
    assert len(ragged()) == 4
    assert ragged().lengths.tolist() == list(LENGTHS)


def test_short_tasks_are_taken_whole_and_padded():
    task = take(ragged(), [3, 0], 6)
    assert task.observations.mask.tolist() == [4 * [True] + 2 * [False], 3 * [True] + 3 * [False]]
    assert task.observations.ys[0, :4].tolist() == [[4, 0], [4, 1], [4, 2], [4, 3]]
    assert task.observations.ys[1, :3].tolist() == [[1, 0], [1, 1], [1, 2]]
    assert task.privileged.tolist() == [[3], [0]]


def test_all_are_padded_to_the_longest():
    task, tasks = ragged(gaps=True).padded(), ragged(gaps=True)
    mask = task.observations.mask
    assert mask.sum(axis=1).tolist() == list(LENGTHS)
    assert mask.shape == (4, 50)
    np.testing.assert_array_equal(task.observations.ys[mask], tasks.observations.ys)
    np.testing.assert_array_equal(task.observations.gaps[mask], tasks.observations.gaps)


def test_padding_is_zeros():
    seen = take(ragged(gaps=True), [0, 2], 6).observations
    assert not seen.ts[~seen.mask].any()
    assert not seen.ys[~seen.mask].any()
    assert not seen.gaps[~seen.mask].any()


def test_gaps_go_with_their_points():
    seen = take(ragged(gaps=True), [1, 3], 6).observations
    point = seen.ys[..., 1]
    np.testing.assert_array_equal(seen.gaps[..., 0], (point % 2 == 1) & seen.mask)
    assert not seen.gaps[..., 1].any()
    assert take(ragged(), [1, 3], 6).observations.gaps is None


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    length=st.integers(1, 50),
    seed=st.integers(0, 1000),
)
def test_a_long_task_gives_some_of_its_own_points_and_none_twice(lengths, length, seed):
    tasks = ragged(lengths)
    seen = take(tasks, np.arange(len(lengths)), length, seed).observations
    for i, number in enumerate(lengths):
        real = seen.mask[i]
        assert real.sum() == min(number, length)
        assert (seen.ys[i, real, 0] == 1 + i).all()
        points = seen.ys[i, real, 1]
        assert (np.diff(points) > 0).all()
        assert points.max() < number
        np.testing.assert_allclose(seen.ts[i, real], points / max(lengths), rtol=1e-6)


def test_every_point_of_a_long_task_is_equally_likely():
    counts = np.zeros(50)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        seen = ragged().take(np.array([1]), length=10, rng=rng).observations
        counts[seen.ys[0, :, 1].astype(int)] += 1
    share, stderr = 10 / 50, np.sqrt(0.2 * 0.8 / 2000)
    np.testing.assert_allclose(counts / 2000, share, atol=5 * stderr)


def test_a_task_without_points_is_all_padding():
    nothing = RaggedTasks(Observations.none(2), np.zeros(2, int), np.zeros((1, 0), np.float32))
    seen = take(nothing, [0], 4).observations
    assert seen.ys.shape == (1, 4, 2)
    assert not seen.mask.any()


def test_the_same_generator_takes_the_same_points():
    first, again, other = (take(ragged(), [1], 10, seed).observations.ts for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("length", [16, 128])
def test_a_long_task_costs_no_memory_for_the_others(length):
    tasks = ragged((200_000, *1000 * [5]))
    tracemalloc.start()
    taken = take(tasks, np.arange(1001), length)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken.observations.ys.shape == (1001, length, 2)
    # Padded to the longest they would take 1001 * 200,000 points.
    assert peak < 100 * 1001 * length + 30 * 200_000


def test_some_tasks_are_those_and_nothing_else():
    tasks = ragged(gaps=True)
    some = tasks.only(np.array([2, 0]))
    assert some.lengths.tolist() == [1, 3]
    first, second = take(tasks, [2, 0], 4).observations, take(some, [0, 1], 4).observations
    np.testing.assert_array_equal(first.ys, second.ys)
    np.testing.assert_array_equal(first.mask, second.mask)
    np.testing.assert_array_equal(first.gaps, second.gaps)
    assert some.privileged.tolist() == [[2], [0]]


def test_of_a_long_task_no_point_is_taken_twice():
    ts = take(ragged((50, 3)), [0], 40).observations.ts
    assert len(np.unique(ts)) == 40
