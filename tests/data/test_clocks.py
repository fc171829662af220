"""What dates count from: against what the standard library says of the calendar."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lupi.data import check_series, read_series
from lupi.data.clocks import clock_origins
from lupi.data.normalisation import Normalisation, to_tasks, within_span
from lupi.data.series_table import Columns
from lupi.errors import UserError

ROLES = {"series": "run", "time": "t", "observed": "x"}
BERLIN = ZoneInfo("Europe/Berlin")


def frame(**starts: str) -> pd.DataFrame:
    """Three days of each run from its start on, every six hours."""
    return pd.concat(
        [
            pd.DataFrame({"run": run, "t": pd.date_range(start, periods=13, freq="6h")})
            for run, start in starts.items()
        ],
        ignore_index=True,
    ).assign(x=lambda rows: np.sin(np.arange(len(rows))))


def shown(table) -> list[float]:
    """What the clock of each series shows at its first row, in days."""
    normalisation = Normalisation.of(table)
    tasks = to_tasks(table, normalisation)
    first = tasks.observations.ts[tasks.offsets[:-1]].astype(float)
    return (normalisation.to_original_times(first) / 86_400).round(3).tolist()


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        ("run", [0, 0]),
        ("day", [0.25, 0.75]),
        ("week", [2.25, 6.75]),  # a Wednesday and a Sunday
        ("year", [0.25, 59.75]),
    ],
)
def test_dates_count_from_the_beginning_that_the_clock_says(clock, expected):
    table = read_series(frame(a="2025-01-01 06:00", b="2026-03-01 18:00"), **ROLES, clock=clock)
    assert shown(table) == pytest.approx(expected, abs=2e-3)


def test_a_common_clock_lays_no_run_over_another():
    table = read_series(frame(a="2026-01-01", b="2026-03-01"), **ROLES, clock="common")
    normalisation = Normalisation.of(table)
    assert not normalisation.own_clock
    ts = to_tasks(table, normalisation).padded().observations.ts
    assert ts[0].max() < ts[1].min()
    assert ts.max() == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(began=st.datetimes(datetime(1960, 1, 1), datetime(2040, 1, 1)), tz=st.booleans())
def test_at_its_beginning_a_clock_shows_what_the_calendar_on_the_wall_does(began, tz):
    aware = began.replace(tzinfo=BERLIN if tz else ZoneInfo("UTC"))
    second = aware.timestamp()
    if aware.astimezone(ZoneInfo("UTC")).astimezone(aware.tzinfo).replace(tzinfo=None) != began:
        return  # an hour that daylight saving leaves out
    wall = {
        "day": began - datetime(began.year, began.month, began.day),
        "week": began
        - datetime(began.year, began.month, began.day)
        + timedelta(days=began.weekday()),
        "year": began - datetime(began.year, 1, 1),
    }
    for clock, expected in wall.items():
        columns = Columns(
            series=None,
            time="t",
            observed=("x",),
            datetime=True,
            timezone="Europe/Berlin" if tz else None,
            clock=clock,
        )
        found = second - clock_origins(columns, np.array([second]))[0]
        assert found == pytest.approx(expected.total_seconds(), abs=1e-3)


def test_within_a_run_the_clock_runs_evenly_when_daylight_saving_begins():
    rows = frame(a="2026-03-28 12:00", b="2026-06-01 12:00")
    rows["t"] = rows["t"].dt.tz_localize("Europe/Berlin")
    table = read_series(rows, **ROLES, clock="day")
    assert shown(table) == pytest.approx([0.5, 0.5], abs=2e-3)
    ts = to_tasks(table, Normalisation.of(table)).padded().observations.ts
    hours = rows["t"].diff().dt.total_seconds().iloc[1:13].to_numpy()
    np.testing.assert_allclose(np.diff(ts[0]) / np.diff(ts[1]), hours / (6 * 3600), rtol=1e-5)


def test_rows_that_are_left_out_do_not_move_the_clock():
    table = read_series(frame(a="2026-01-01 18:00", b="2026-01-01 06:00"), **ROLES, clock="day")
    normalisation = Normalisation.of(table[:1])
    part = within_span(table[1:], normalisation)
    assert len(part.times) < 13
    np.testing.assert_array_equal(part.began, table.began[1:])


def test_numbers_have_no_other_clock():
    rows = {"t": [0, 1, 2], "x": [1, 2, 3]}
    with pytest.raises(
        UserError, match="column 't': expected dates with the clock 'year', got num"
    ):
        read_series(rows, time="t", observed="x", clock="year")
    with pytest.raises(UserError, match=r"unknown clock 'years'.* Did you mean 'year'\?"):
        read_series(rows, time="t", observed="x", clock="years")


# Starts


def test_a_column_says_when_a_run_began():
    rows = frame(a="2026-01-02", b="2026-01-10").assign(began=None)
    rows.loc[3, "began"] = "2026-01-01T12:00"
    table = read_series(rows, **ROLES, start="began")
    assert shown(table) == pytest.approx([0.5, 0.0], abs=2e-3)
    assert shown(table[::-1]) == pytest.approx([0.0, 0.5], abs=2e-3)
    assert table.fingerprint() != read_series(rows, **ROLES).fingerprint()


def test_a_start_without_a_timezone_is_in_that_of_the_table():
    rows = frame(a="2026-07-02", b="2026-07-10").assign(began="2026-07-01T12:00")
    rows["t"] = rows["t"].dt.tz_localize("Europe/Berlin")
    rows.loc[rows["run"] == "b", "began"] = None
    began = read_series(rows, **ROLES, start="began").began
    assert began[0] == datetime(2026, 7, 1, 12, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("began", "message"),
    [
        (["2026-01-03"], r"series 'a': expected a start at or before .* got 2026-01-03 00:00:00"),
        (["2026-01-01", "2025-01-01"], r"series 'a', row 2: expected one start .* in row 1 and"),
        ([3.0], "column 'began': expected dates, as in the time column, got numbers"),
        (["soon"], "column 'began'.*row 1: expected a number or a date, got 'soon'"),
    ],
)
def test_a_start_that_cannot_be_is_a_problem(began, message):
    rows = frame(a="2026-01-02", b="2026-01-10")
    rows["began"] = pd.Series(began, dtype=object).reindex(range(len(rows)))
    with pytest.raises(UserError, match=message):
        read_series(rows, **ROLES, start="began")


@pytest.mark.parametrize("other", [{"window": "1D"}, {"clock": "common"}])
def test_a_start_goes_with_clocks_of_runs_only(other):
    rows = frame(a="2026-01-02").assign(began="2026-01-01")
    _, problems = check_series(rows, **ROLES, start="began", **other)
    assert "expected no column that says when a series began" in str(problems[0])


def test_numbers_have_no_start():
    _, problems = check_series(
        {"t": [1, 2], "x": [1, 2], "s": [0, 0]}, time="t", observed="x", start="s"
    )
    assert "column 's': expected dates with a start column, got times that are nu" in str(
        problems[0]
    )
