"""A long record with dates, from the file to forecasts, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from lupi.cli import main
from lupi.commands.times import read_times

COLUMNS = ["--time", "t", "--observed", "x"]
QUICK = ["--train.epochs", "2", "--process.hidden-size", "8", "--train.batch-size", "8"]
QUICK += ["--members", "1", "--no-blend", "--inference", "amortised", "--model", "cnp"]


def record(start: str, days: int) -> pd.DataFrame:
    t = pd.date_range(start, periods=12 * days, freq="2h")
    return pd.DataFrame({"t": t, "x": np.sin(2 * np.pi * t.hour / 24) + 0.1 * np.cos(t.day)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a record, and a model of its days."""
    folder = tmp_path_factory.mktemp("dates")
    record("2026-01-01", 20).to_csv(folder / "record.csv", index=False)
    options = [*COLUMNS, *QUICK, "--window", "1D", "--clock", "day"]
    main(["train", str(folder / "record.csv"), *options, "--out", str(folder / "model.lupi")])
    return folder


def run(arguments: list, capsys) -> tuple[int, dict, str]:
    """The exit code of a command, the JSON it prints, and what it says on stderr."""
    capsys.readouterr()
    code = 0
    try:
        main([*map(str, arguments), "--json"])
    except SystemExit as stop:
        code = int(stop.code or 0)
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


def test_a_model_of_windows_keeps_the_clock_and_counts_its_runs(folder, capsys):
    _, shown, _ = run(["show", folder / "model.lupi"], capsys)
    assert shown["provenance"]["data"]["series"] == 20
    assert shown["columns"]["clock"] == "day"


def test_a_new_day_is_forecast_at_dates_between_two(folder, tmp_path, capsys):
    record("2026-05-01 08:00", 1).head(3).to_csv(tmp_path / "new.csv", index=False)
    arguments = [folder / "model.lupi", tmp_path / "new.csv", "--out", tmp_path / "forecast.csv"]
    times = "2026-05-01T10:00:2026-05-01T20:00:6"
    code, _, _ = run(["predict", *arguments, "--times", times], capsys)
    assert code == 0
    forecast = pd.read_csv(tmp_path / "forecast.csv", parse_dates=["t"])
    expected = pd.date_range("2026-05-01 10:00", "2026-05-01 20:00", freq="2h")
    assert forecast["t"].tolist() == expected.tolist()


def test_a_start_column_is_named_for_a_prediction(folder, tmp_path, capsys):
    new = record("2026-05-02 02:00", 1).head(3).assign(since="2026-05-01T20:00")
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = [folder / "model.lupi", tmp_path / "new.csv", "--out", tmp_path / "forecast.csv"]
    code, _, _ = run(["predict", *arguments], capsys)
    assert code == 0
    # On the clock of the day before, the rows lie after all that was learnt.
    with pytest.raises(SystemExit) as stop:
        main(["predict", *map(str, arguments), "--start", "since", "--overwrite"])
    assert stop.value.code == 2
    assert "the model has learnt from 2026-05-01" in capsys.readouterr().err


def test_refused_runs_are_named_and_the_others_written(folder, tmp_path, capsys):
    new = pd.concat(
        [record("2026-05-01", 1).head(3).assign(window_number=name) for name in ("a", "b", "c")],
        ignore_index=True,
    )
    new.loc[new["window_number"] == "b", "x"] = 1e6
    nothing = new.tail(1).assign(window_number="d", x=np.nan)
    new = pd.concat([new, nothing], ignore_index=True)
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = [folder / "model.lupi", tmp_path / "new.csv", "--systems", tmp_path / "found.csv"]
    arguments += ["--overwrite"]
    for out in ("forecast.csv", "forecast.parquet", "forecast.nc"):
        code, printed, error = run(["predict", *arguments, "--out", tmp_path / out], capsys)
        assert code == 2
        assert printed["series"] == 2
        assert list(printed["refused"]) == ["b", "d"]
        assert error.startswith("lupi: series 'b' has x = 1e+06")
    frame = pd.read_csv(tmp_path / "forecast.csv")
    assert frame.groupby("window_number").size().to_dict() == {"a": 100, "b": 1, "c": 100, "d": 1}
    assert frame["refused"].notna().sum() == 2
    assert frame["refused"].iloc[-1].startswith("has no observed value")
    found = pd.read_csv(tmp_path / "found.csv")
    assert found["window_number"].tolist() == ["a", "c", "b", "d"]


def test_a_later_record_is_judged_by_its_windows(folder, tmp_path, capsys):
    later = record("2026-06-01", 5).iloc[:-10]  # of the last day two rows, of another day one
    later = later[(later["t"].dt.day != 2) | (later["t"].dt.hour == 0)]
    later.to_csv(tmp_path / "later.csv", index=False)
    arguments = [folder / "model.lupi", tmp_path / "later.csv", "--window", "1D"]
    code, metrics, _ = run(["evaluate", *arguments, "--out", tmp_path / "judged"], capsys)
    assert code == 0
    assert np.isfinite(metrics["x"]["rmse"]["mean"])
    assert list(metrics["refused"]) == ["1"]
    main(["evaluate", *map(str, arguments), "--out", str(tmp_path / "judged"), "--overwrite"])
    out = capsys.readouterr().out
    assert "1 of 5 series are in no score:\n- series '1' has 1 observation" in out
    page = (tmp_path / "judged" / "report.html").read_text()
    assert "1 series are in no score" in page
    assert "has 1 observation" in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:12:4", [0, 4, 8, 12]),
        ("1,2.5", [1, 2.5]),
        ("2026-01-01:2026-03-01:2", ["2026-01-01", "2026-03-01"]),
        ("2026-01-01T00:00:2026-01-02T00:00:2", ["2026-01-01", "2026-01-02"]),
        ("2026-01-01 00:00:00:2026-01-02 06:00:00:2", ["2026-01-01", "2026-01-02 06:00"]),
        (
            "2026-01-01T00:00+01:00:2026-01-02T00:00+01:00:2",
            ["2026-01-01 00:00+01:00", "2026-01-02 00:00+01:00"],
        ),
        ("2026-01-02T12:00:25", ["2026-01-02T12:00:25"]),
    ],
)
def test_times_are_a_list_or_a_span_of_numbers_or_dates(text, expected):
    found = read_times(text)
    if isinstance(expected[0], str):
        found, expected = (
            pd.to_datetime(times, format="ISO8601").tolist() for times in (found, expected)
        )
    assert list(found) == expected


def test_what_is_neither_stays_as_it_is_for_the_message():
    assert read_times("1:2:x") == ["1:2:x"]
    assert read_times(None) is None
