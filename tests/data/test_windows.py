"""A long record as many runs, and what is suggested of it."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from lupi.cli import main
from lupi.data import check_series, read_series
from lupi.data.suggestions import suggest
from lupi.errors import UserError


def record(start: str = "2025-01-01", *, hours: int = 3, days: int = 400, zone=None):
    t = pd.date_range(start, periods=24 * days // hours, freq=f"{hours}h", tz=zone)
    return pd.DataFrame({"t": t, "x": np.sin(np.arange(len(t)))})


def read(rows, **options):
    return read_series(rows, time="t", observed="x", **options)


def test_numbers_count_from_the_beginning_of_their_window():
    t = np.array([5.0, 9.9, 10.0, 14.0, 31.0, 39.5])
    table = read({"t": t, "x": np.arange(6.0)}, window=10)
    assert table.labels.tolist() == ["0", "1", "3"]
    assert table.lengths.tolist() == [2, 2, 2]
    np.testing.assert_allclose(table.times, [5.0, 9.9, 0.0, 4.0, 1.0, 9.5])
    np.testing.assert_array_equal(table.values[:, 0], np.arange(6.0))


def test_decimal_windows_lose_no_time_to_rounding():
    t = np.arange(60) / 10
    table = read({"t": t, "x": np.sin(t)}, window=0.3)
    assert table.lengths.tolist() == [3] * 20
    np.testing.assert_allclose(table.times, np.tile([0.0, 0.1, 0.2], 20), atol=1e-9)


def test_series_are_cut_one_by_one_and_keep_what_is_known_of_them():
    rows = pd.DataFrame({"t": [0, 1, 2, 3] * 2, "x": range(8), "site": list("aaaabbbb")})
    rows["k"] = [1.0] * 4 + [2.0] * 4
    table = read(rows, series="site", privileged="k", window=2)
    assert table.labels.tolist() == ["a/0", "a/1", "b/0", "b/1"]
    assert table.privileged[:, 0].tolist() == [1, 1, 2, 2]
    assert table.columns.series == "site"
    assert set(table.to_dataframe()["site"]) == set(table.labels)


@pytest.mark.parametrize(
    ("window", "clock", "grouped"),
    [
        ("1D", "day", lambda t: t.dt.date),
        ("24h", "run", lambda t: t.dt.date),
        ("7d", "week", lambda t: t.dt.strftime("%G-%V")),
        ("MS", "year", lambda t: t.dt.strftime("%Y-%m")),
        ("YS", "year", lambda t: t.dt.year),
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_are_cut_where_the_calendar_on_the_wall_is(window, clock, grouped, zone):
    rows = record("2025-01-03 07:30", zone=zone)
    table = read(rows, window=window, clock=clock)
    assert table.lengths.tolist() == rows.groupby(grouped(rows["t"])).size().tolist()
    assert table.original_times()[0] == rows["t"][0]


def test_no_window_comes_twice_when_daylight_saving_ends():
    rows = record("2025-10-25", hours=1, days=3, zone="Europe/Berlin")
    table = read(rows, window="1h")
    assert len(set(table.labels)) == len(table) == 71  # of 72 hours two are shown as one
    assert table.lengths.max() == 2


def test_short_windows_are_left_out_and_counted():
    rows = {"t": [0, 1, 2, 10, 20, 21], "x": [1, 2, None, 3, 4, 5]}
    table = read(rows, window=10, min_points=2)
    assert table.labels.tolist() == ["0", "2"]
    assert table.left_out == {
        "rows": {"without an observed value": 1, "in windows with fewer than 2 rows": 1},
        "series": {"windows with fewer than 2 rows": 1},
    }
    with pytest.raises(UserError, match="expected windows with at least 9 rows, got at most 2"):
        read(rows, window=10, min_points=9)


def test_merged_rows_are_counted():
    table = read({"t": [0, 0, 1], "x": [1, 1, 2]})
    assert table.left_out == {"rows": {"merged with others of the same time": 1}}


@pytest.mark.parametrize("window", ["3", 3, "7x", "0D", "YE", "-1D", ""])
def test_windows_of_dates_have_a_unit(window):
    with pytest.raises(UserError, match="expected a window of dates with a unit, such as 7D"):
        read(record(days=5), window=window)


@pytest.mark.parametrize("window", ["7d", 0, -1.0, "nan", "inf"])
def test_windows_of_numbers_are_numbers(window):
    with pytest.raises(UserError, match="expected a window that is a number above 0"):
        read({"t": [0, 1], "x": [1, 2]}, window=window)


# Suggestions


def runs(starts, *, days: int = 90, every: str = "1D"):
    return pd.concat(
        pd.DataFrame({"run": i, "t": pd.date_range(start, periods=days, freq=every)})
        for i, start in enumerate(starts)
    ).assign(x=lambda rows: np.sin(np.arange(len(rows))))


def suggested(rows, **options) -> list[str]:
    table, problems = check_series(rows, time="t", observed="x", **options)
    assert not problems
    words = " ".join(suggest(table)).split()
    return [f"{a} {b.rstrip('.')}" for a, b in pairwise(words) if a[:2] == "--"]


def test_one_long_record_suggests_a_window():
    found = suggested(record())
    assert found[1] == "--window MS"
    assert suggested(record().assign(t=np.arange(3200.0)))[1] == "--window 100"
    assert suggested(record(days=5)) == []
    assert suggested(record(), window=found[1].split()[1], clock="year") == []


def test_runs_that_begin_in_different_seasons_suggest_a_clock_of_the_year():
    spread = runs(pd.date_range("2025-01-01", periods=6, freq="60D"))
    assert suggested(spread, series="run") == ["--clock year"]
    assert suggested(spread, series="run", clock="year") == []
    together = runs([f"{year}-03-0{year - 2015}" for year in range(2016, 2022)])
    assert suggested(together, series="run") == []
    short = runs(pd.date_range("2025-01-01", periods=6, freq="60D"), days=20)
    assert suggested(short, series="run") == []


def test_runs_that_begin_at_different_hours_suggest_a_clock_of_the_day():
    starts = [f"2025-01-0{i + 1} {5 * i % 24:02}:00" for i in range(6)]
    assert suggested(runs(starts, every="1h"), series="run") == ["--clock day"]
    # Of one value a day the hour tells nothing.
    assert suggested(runs(starts, every="1D"), series="run") == []


def test_check_tells_what_was_left_out_and_suggests(tmp_path, capsys):
    path = tmp_path / "record.csv"
    rows = record(days=60, hours=1)
    rows.loc[3, "x"] = np.nan
    rows.to_csv(path, index=False)
    columns = ["check", str(path), "--time", "t", "--observed", "x"]
    with pytest.raises(SystemExit) as stop:
        main([*columns, "--json"])
    assert stop.value.code == 2
    told = json.loads(capsys.readouterr().out)
    assert told["left_out"] == {"rows": {"without an observed value": 1}}
    assert "--window 1D" in told["suggestions"][0]
    assert "--window" in told["problems"][0]
    main([*columns, "--window", "1D", "--clock", "day"])
    out = capsys.readouterr().out
    assert "series: 60" in out
    assert "without an observed value: 1" in out
    assert "No problem found." in out
