import numpy as np
import pytest

from lupi.data import read_series
from lupi.data.held_out import hold_out
from lupi.data.normalisation import Normalisation
from lupi.errors import UserError


def table(num_series: int = 20, *, late: int = 0):
    """Series whose privileged value says which they are; the last `late` of them come later."""
    series = np.repeat(np.arange(num_series), 5)
    time = np.tile(np.arange(5.0), num_series) + 100.0 * (series >= num_series - late)
    columns = {"run": series, "t": time, "x": np.sin(time + series), "k": series}
    return read_series(columns, series="run", time="t", observed="x", privileged="k")


def which(tasks, normalisation) -> list[int]:
    """The series that these tasks were made of."""
    (mean,), (scale,) = normalisation.privileged_mean, normalisation.privileged_scale
    return np.round(tasks.privileged[:, 0] * scale + mean).astype(int).tolist()


def divide(series, numbers, *, seed: int = 0, **options):
    return hold_out(series, numbers, rng=np.random.default_rng(seed), **options)


def test_every_series_is_in_one_part_and_parts_have_their_numbers():
    normalisation, training, held_out, _ = divide(table(), [4, 3])
    parts = [which(part, normalisation) for part in (training, *held_out)]
    assert [len(part) for part in parts] == [13, 4, 3]
    assert sorted(np.concatenate(parts)) == list(range(20))


def test_a_seed_divides_as_it_did_and_another_otherwise():
    divided = [divide(table(), [6], seed=seed) for seed in (0, 0, 1)]
    first, again, other = (which(one.training, one.normalisation) for one in divided)
    assert first == again != other


def test_the_normalisation_is_that_of_the_training_series_alone():
    series = table()
    normalisation, training, _, _ = divide(series, [4, 3])
    assert normalisation == Normalisation.of(series[which(training, normalisation)])
    assert training.observations.ys.mean() == pytest.approx(0.0, abs=1e-6)


def test_fewer_to_train_on_leave_the_series_held_out_as_they_are():
    some, everyone = divide(table(), [4, 3], num_training=5), divide(table(), [4, 3])
    assert len(some.training) == 5
    for part, other in zip(some.held_out, everyone.held_out, strict=True):
        assert which(part, some.normalisation) == which(other, everyone.normalisation)


def test_too_few_series_are_refused():
    with pytest.raises(UserError, match="there are 20 series, training needs at least 21, 15 of"):
        divide(table(), [10, 5], num_training=6)


def test_a_part_that_lies_outside_the_time_of_training_is_refused():
    series = table(4, late=1)
    seeds = [seed for seed in range(20) if np.random.default_rng(seed).permutation(4)[0] == 3]
    with pytest.raises(UserError, match="none of the 1 series held out has an observation within"):
        divide(series, [1], seed=seeds[0])
