import numpy as np
import pandas as pd
import pytest

from lupi.data import Task, read_series
from lupi.data.normalisation import Normalisation, to_tasks
from lupi.errors import UserError

FRAME = pd.DataFrame(
    {
        "run": ["a", "a", "a", "b", "b"],
        "t": [2.0, 4.0, 10.0, 3.0, 12.0],
        "x": [1.0, 3.0, np.nan, 5.0, 7.0],
        "y": [10.0, 10.0, 40.0, 20.0, 20.0],
        "k": [1.0, 1.0, 1.0, 3.0, 3.0],
    }
)


def read(frame: pd.DataFrame, **options):
    return read_series(
        frame, series="run", time="t", observed=["x", "y"], privileged="k", **options
    )


def padded_tasks(table) -> Task:
    """All series as the model sees them, padded to the longest."""
    return to_tasks(table, Normalisation.of(table)).padded()


def test_the_model_sees_times_from_0_to_1_and_columns_of_mean_0_and_deviation_1():
    table = read(FRAME)
    task = padded_tasks(table)
    mask, ts = task.observations.mask, task.observations.ts
    assert mask.tolist() == [[True, True, True], [True, True, False]]
    assert ts[mask].min() > 0
    assert ts[mask].max() == pytest.approx(1)
    known = task.observations.known
    for j in range(2):
        values = task.observations.ys[..., j][known[..., j]]
        assert values.mean() == pytest.approx(0, abs=1e-6)
        assert values.std() == pytest.approx(1)
    assert task.observations.gaps.sum() == 1
    np.testing.assert_allclose(task.privileged, [[-1.0], [1.0]])


def test_values_go_back_to_what_they_were():
    table = read(FRAME)
    normalisation = Normalisation.of(table)
    there_and_back = normalisation.to_original_values(normalisation.to_model_values(table.values))
    np.testing.assert_allclose(there_and_back, table.values)


def test_a_clock_that_begins_just_after_0_begins_at_0_and_others_have_a_margin():
    early = read(FRAME.assign(t=FRAME["t"] - 1.9))
    assert Normalisation.of(early).time_start == 0.0
    assert Normalisation.of(read(FRAME)).time_start == pytest.approx(2.0 - 0.05 * 10.0)


def test_dates_count_from_the_first_row_of_each_series():
    dated = FRAME.assign(t=pd.Timestamp("2026-03-01") + pd.to_timedelta(FRAME["t"], unit="h"))
    table = read(dated)
    assert Normalisation.of(table).own_clock
    ts = padded_tasks(table).observations.ts
    assert ts[0, 0] == ts[1, 0] == 0.0
    assert ts[0, 2] == pytest.approx(8 / 9)


def test_a_missing_privileged_value_stays_missing():
    table = read(pd.concat([FRAME, FRAME.iloc[:2].assign(run="c", k=np.nan)]))
    privileged = padded_tasks(table).privileged
    assert np.isnan(privileged[2, 0])
    assert np.isfinite(privileged[:2]).all()


def test_a_column_that_is_constant_in_the_series_trained_on_is_refused():
    table = read(FRAME.assign(y=5.0), training=False)
    with pytest.raises(UserError, match="observed column 'y' has one value in all series"):
        Normalisation.of(table)
