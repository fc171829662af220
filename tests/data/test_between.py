"""Points between those of smooth series, against closed forms."""

import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.data.between import NEIGHBOURS, with_points_between


def curves(ts: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(9 * ts), np.exp(-3 * ts)], axis=-1)


def series(number: int = 51, noise: float = 0.0) -> Task:
    """Two series of two closed forms at the same times, in no order."""
    rng = np.random.default_rng(0)
    ts = np.tile(rng.permutation(np.linspace(0, 1, number)), (2, 1)).astype(np.float32)
    ys = curves(ts.astype(float))
    ys = ys + noise * rng.standard_normal(ys.shape)
    return Task(Observations(ts, ys.astype(np.float32)), np.zeros((2, 1), np.float32))


def filled(tasks: Task) -> Task:
    return with_points_between(tasks, rng=np.random.default_rng(1))


def test_between_the_points_of_a_closed_form_it_is_that_form():
    seen = filled(series()).observations
    np.testing.assert_array_equal(seen.mask.sum(axis=1), 101)
    ts, ys = seen.ts[seen.mask], seen.ys[seen.mask]
    np.testing.assert_allclose(ys, curves(ts.astype(float)), atol=2e-6)


def test_there_is_one_point_between_any_two_and_elsewhere_in_each_series():
    ts = np.sort(filled(series()).observations.ts[:, 51:-1], axis=1)
    places = ts * 50 - np.arange(50)
    assert (places > -1e-5).all()
    assert (places < 1 + 1e-5).all()
    assert np.abs(ts[0] - ts[1]).min() > 0


def test_points_between_may_take_the_place_of_those_that_were_there():
    both = filled(series()).observations
    between = with_points_between(series(), rng=np.random.default_rng(1), instead=True).observations
    np.testing.assert_array_equal(between.ts, both.ts)
    assert not between.mask[:, :51].any()
    np.testing.assert_array_equal(between.mask[:, 51:], both.mask[:, 51:])


def test_points_that_were_there_stay_as_they_are():
    before, after = series(), filled(series())
    np.testing.assert_array_equal(after.observations.ys[:, :51], before.observations.ys)
    np.testing.assert_array_equal(after.privileged, before.privileged)


@pytest.mark.parametrize(
    "tasks",
    [
        series(noise=3e-3),
        series(NEIGHBOURS),
        series(12),  # so few that the sine cannot be told from them
        Task(
            Observations(series().observations.ts * 0, series().observations.ys), np.zeros((2, 0))
        ),
    ],
    ids=["noise", "few points", "too far apart", "all at one time"],
)
def test_series_that_do_not_tell_what_is_between_change_nothing(tasks):
    assert filled(tasks) is tasks


def test_a_noisy_series_stays_as_it_is_beside_a_smooth_one():
    smooth, noisy = series().observations, series(noise=0.1).observations
    ys = np.stack([smooth.ys[0], noisy.ys[0]])
    seen = filled(Task(Observations(smooth.ts, ys), np.zeros((2, 0), np.float32))).observations
    np.testing.assert_array_equal(seen.mask.sum(axis=1), [101, 51])


def test_a_series_with_gaps_stays_as_it_is_beside_a_smooth_one():
    seen = series().observations
    gaps = np.zeros(seen.ys.shape, bool)
    gaps[1, 20, 0] = True
    tasks = Task(Observations(seen.ts, seen.ys, seen.mask, gaps), np.zeros((2, 0), np.float32))
    np.testing.assert_array_equal(filled(tasks).observations.mask.sum(axis=1), [101, 51])


def test_padding_is_no_point():
    seen = series().observations
    mask = seen.ts < 0.5
    ys = np.where(mask[..., None], seen.ys, 7.0).astype(np.float32)
    tasks = Task(Observations(seen.ts, ys, mask), np.zeros((2, 0), np.float32))
    found = filled(tasks).observations
    ts, ys = found.ts[found.mask], found.ys[found.mask]
    assert found.mask.sum() == 2 * (2 * mask[0].sum() - 1)
    assert ts.max() < 0.5
    np.testing.assert_allclose(ys, curves(ts.astype(float)), atol=2e-6)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_a_column_does_not_matter(unit):
    for noise in (0.0, 3e-3):
        before = series(noise=noise)
        seen = before.observations
        scaled = Task(Observations(seen.ts, seen.ys * np.float32(unit)), before.privileged)
        found, expected = filled(scaled).observations, filled(before).observations
        assert found.ys.shape == expected.ys.shape
        np.testing.assert_allclose(found.ys / unit, expected.ys, atol=1e-5)
