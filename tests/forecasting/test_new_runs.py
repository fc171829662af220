"""New runs on the clock of the training data, and those that cannot be forecast."""

import numpy as np
import pandas as pd
import pytest

import lupi
from lupi.errors import UserError
from lupi.forecasting.forecaster import Forecaster

SMALL = lupi.forecaster_settings(
    inference="amortised",
    members=1,
    blend=False,
    process={"hidden_size": 8, "representation_size": 8},
    train={"epochs": 2, "batch_size": 8, "context_sizes": (2, 5)},
)
ROLES = {"series": "run", "time": "t", "observed": ["x", "y"]}
DAY = pd.Timedelta("1D")


def seasons(number: int = 10) -> pd.DataFrame:
    """A third of a year of each run, from another month on, of what the season makes of it."""
    rows = []
    for i in range(number):
        first = pd.Timestamp(f"{2010 + i}-01-05") + 23 * i * DAY
        t = pd.date_range(first, periods=20, freq="6D", tz="Europe/Berlin")
        rows.append(pd.DataFrame({"run": f"r{i}", "t": t, "began": first - 2 * DAY}))
    runs = pd.concat(rows, ignore_index=True)
    season, noise = runs["t"].dt.day_of_year / 58, 0.1 * np.sin(np.arange(len(runs)))
    return runs.assign(x=np.cos(season) + noise, y=np.sin(season) - noise)


RUNS = seasons()
NEW = RUNS[RUNS["run"].isin(["r2", "r4", "r6"])].groupby("run").head(5)
ALONE = NEW[NEW["run"] == "r4"]
TIMES = [ALONE["t"].iloc[0] + 30 * DAY, ALONE["t"].iloc[0] + 50 * DAY]


@pytest.fixture(scope="module")
def by_year() -> Forecaster:
    table = lupi.read_series(RUNS, **ROLES, clock="year", start="began")
    return lupi.Forecaster(SMALL).fit(table, progress=False)


def later(times, **shift):
    return [time + pd.DateOffset(**shift) for time in times]


def test_on_a_clock_of_the_year_another_year_is_the_same_and_another_month_is_not(by_year):
    forecast = by_year.predict(ALONE, TIMES)
    # From 2014 to 2015: neither is a leap year.
    next_year = by_year.predict(
        ALONE.assign(t=later(ALONE["t"], years=1), began=later(ALONE["began"], years=1)),
        later(TIMES, years=1),
    )
    np.testing.assert_allclose(next_year.mean, forecast.mean, rtol=1e-5)
    next_month = by_year.predict(
        ALONE.assign(t=later(ALONE["t"], days=40), began=later(ALONE["began"], days=40)),
        later(TIMES, days=40),
    )
    assert np.abs(next_month.mean - forecast.mean).max() > 1e-4


def test_a_file_keeps_clock_and_start(by_year, tmp_path):
    by_year.save(tmp_path / "model.lupi")
    loaded = lupi.load(tmp_path / "model.lupi")
    assert (loaded.columns.clock, loaded.columns.start) == ("year", "began")
    np.testing.assert_array_equal(
        loaded.predict(ALONE, TIMES).samples, by_year.predict(ALONE, TIMES).samples
    )


def test_a_new_table_in_another_timezone_is_on_the_clock_of_training(by_year):
    utc = ALONE.assign(t=ALONE["t"].dt.tz_convert("UTC"), began=None)
    berlin = ALONE.assign(began=None)
    np.testing.assert_array_equal(
        by_year.predict(utc, TIMES).samples, by_year.predict(berlin, TIMES).samples
    )


def test_without_observations_the_first_time_says_where_the_clock_stands(by_year):
    forecast = by_year.predict(None, ["2030-05-01", "2030-05-20"])
    alike = by_year.predict(None, ["2031-05-20"], starts={0: "2031-05-01"})
    np.testing.assert_allclose(alike.mean, forecast.mean[1:], rtol=1e-5)
    other = by_year.predict(None, ["2030-08-01", "2030-08-20"])
    assert np.abs(other.mean - forecast.mean).max() > 1e-4


# Starts, on a clock that begins with the run


@pytest.fixture(scope="module")
def by_run() -> Forecaster:
    table = lupi.read_series(RUNS, **ROLES, start="began")
    return lupi.Forecaster(SMALL).fit(table, progress=False)


def test_the_start_column_of_training_is_taken_where_it_is_there(by_run):
    said = by_run.predict(ALONE, TIMES)
    unsaid = by_run.predict(ALONE.drop(columns="began"), TIMES)
    assert not np.allclose(said.mean, unsaid.mean)
    start = {"r4": ALONE["began"].iloc[0]}
    named = by_run.predict(ALONE.drop(columns="began"), TIMES, starts=start)
    np.testing.assert_array_equal(named.samples, said.samples)
    elsewhere = by_run.predict(ALONE.rename(columns={"began": "since"}), TIMES, starts="since")
    np.testing.assert_array_equal(elsewhere.samples, said.samples)


def test_starts_go_before_the_column(by_run):
    earlier = {"r4": ALONE["began"].iloc[0] - 5 * DAY}
    both = by_run.predict(ALONE, TIMES, starts=earlier)
    alone = by_run.predict(ALONE.drop(columns="began"), TIMES, starts=earlier)
    np.testing.assert_array_equal(both.samples, alone.samples)


def test_labels_that_are_not_there_are_named(by_run):
    with pytest.raises(UserError, match=r"`starts` names the series 'r8', 'r9', not among .*'r4'"):
        by_run.predict(ALONE, TIMES, starts={"r8": TIMES[0], "r9": TIMES[0]})
    with pytest.raises(UserError, match=r"`times` names the series 'r9', not among"):
        by_run.predict(ALONE, {"r4": TIMES, "r9": TIMES})


def test_a_start_after_the_first_observation_is_refused(by_run):
    with pytest.raises(UserError, match=r"^series 'r4' has an observation at .*, before its start"):
        by_run.predict(ALONE.assign(began=ALONE["t"].iloc[0] + DAY), TIMES)


def test_where_nothing_was_seen_starts_of_another_series_are_refused(by_run):
    with pytest.raises(UserError, match=r"`starts` names the series 'r9', not among .*\(0\)"):
        by_run.predict(None, TIMES, starts={"r9": TIMES[0]})


def test_starts_that_would_have_no_effect_are_refused(by_run):
    with pytest.raises(UserError, match="names the column 'began', but there is no table"):
        by_run.predict(None, TIMES, starts="began")


# Refused series


@pytest.fixture(scope="module")
def asked() -> dict:
    first = NEW.groupby("run")["t"].first()
    return {run: [time + 40 * DAY, time + 60 * DAY] for run, time in first.items()}


def spoilt(what: str, asked: dict) -> tuple[pd.DataFrame, dict]:
    """Three runs, of which r4 cannot be forecast."""
    new, times, bad = NEW.copy(), dict(asked), NEW["run"] == "r4"
    last = new.index[bad][-1]
    if what == "late":
        new.loc[last, "t"] += 900 * DAY
    elif what == "strange":
        new.loc[last, "x"] = 1e6
    elif what == "gap":
        new.loc[last, "y"] = np.nan
    elif what == "times":
        times["r4"] = [time + 99_000 * DAY for time in times["r4"]]
    else:
        new.loc[bad, "began"] += 9 * DAY
    return new, times


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("late", "has an observation at"),
        ("strange", "has x = 1e+06, more than 20"),
        ("gap", "trained on series without gaps"),
        ("times", "cannot be forecast: times go on to"),
        ("start", "before its start at"),
    ],
)
def test_one_bad_series_is_refused_by_name_and_the_others_are_forecast(by_run, asked, what, reason):
    new, times = spoilt(what, asked)
    forecast = by_run.predict(new, times)
    assert forecast.series == ["r2", "r6"]
    assert list(forecast.refused) == ["r4"]
    assert reason in forecast.refused["r4"]
    whole = by_run.predict(NEW, asked)
    assert whole.refused == {}
    for label in ("r2", "r6"):
        np.testing.assert_array_equal(forecast[label].samples, whole[label].samples)
    with pytest.raises(UserError, match=r"^series 'r4' "):
        forecast["r4"]
    with pytest.raises(UserError, match=r"^series 'r4' "):
        by_run.predict(new[new["run"] == "r4"], {"r4": times["r4"]})


def test_refused_series_have_a_row_in_tables(by_run, asked):
    forecast = by_run.predict(*spoilt("strange", asked))
    frame = forecast.to_dataframe()
    assert frame.columns[-1] == "refused"
    assert frame["run"].tolist() == ["r2", "r2", "r6", "r6", "r4"]
    assert frame["refused"].tolist() == [""] * 4 + [forecast.refused["r4"]]
    assert frame.iloc[-1][["t", "x", "x_std", "x_lower", "x_upper"]].isna().all()
    assert frame["t"].dtype == NEW["t"].dtype
    assert "refused" not in by_run.predict(NEW, asked).to_dataframe()
    systems = forecast.systems()
    assert systems["run"].tolist() == ["r2", "r6", "r4"]
    assert systems["refused"].iloc[-1] == forecast.refused["r4"]


def test_if_all_are_refused_it_is_an_error(by_run, asked):
    with pytest.raises(UserError, match=r"^series 'r2' has x = 1e.*None of the 3 series can be"):
        by_run.predict(NEW.assign(x=1e6), asked)


def test_refused_and_single_observations_are_in_no_score(by_run):
    rows = pd.concat([RUNS[RUNS["run"] != "r1"], RUNS[RUNS["run"] == "r1"].head(1)])
    rows.loc[rows["run"] == "r3", "x"] += 1e6
    table = lupi.read_series(rows, **ROLES, start="began", training=False)
    evaluation = lupi.evaluate(by_run, table, context="first:0.3")
    assert list(evaluation.refused) == ["r1", "r3"]
    assert "has 1 observation" in evaluation.refused["r1"]
    others = lupi.read_series(rows[~rows["run"].isin(["r1", "r3"])], **ROLES, start="began")
    expected = lupi.evaluate(by_run, others, context="first:0.3")
    assert expected.refused == {}
    assert evaluation.metrics["x"]["rmse"] == expected.metrics["x"]["rmse"]
    with pytest.raises(UserError, match="has 1 observation, judging needs one to"):
        lupi.evaluate(by_run, table[table.lengths == 1])


def test_an_evaluation_counts_from_where_the_runs_began(by_run):
    """And not from the first observation that is shown."""
    table = lupi.read_series(RUNS, **ROLES, start="began")
    forecast = lupi.evaluate(by_run, table, context="last:0.3").forecast
    shown = RUNS.groupby("run").tail(6)
    expected = by_run.predict(
        shown,
        {"r0": RUNS["t"][:14].tolist()}
        | dict.fromkeys([f"r{i}" for i in range(1, 10)], RUNS["t"][:1].tolist()),
    )
    np.testing.assert_array_equal(forecast["r0"].mean, expected["r0"].mean)


def test_times_across_a_change_of_the_clock_may_be_written_in_any_way(by_year):
    """At 3:00 on 26 October 2014 it is 2:00 once more in Berlin."""
    new = ALONE.assign(t=ALONE["t"] + 160 * DAY, began=ALONE["began"] + 160 * DAY)
    hours = pd.date_range("2014-10-26 00:00", periods=6, freq="h", tz="Europe/Berlin")
    expected = by_year.predict(new, hours.tz_convert("UTC")).mean
    for times in (hours, list(hours), [hour.isoformat() for hour in hours]):
        np.testing.assert_array_equal(by_year.predict(new, times).mean, expected)
    # Without an offset, of the hour that comes twice the first is meant.
    unclear = by_year.predict(new, ["2014-10-26T02:30"]).times
    assert unclear[0] == pd.Timestamp("2014-10-26T02:30+02:00")


def test_in_the_hour_that_the_clock_leaves_out_it_is_the_next_time_there_is(by_year):
    """At 2:00 on 30 March 2014 it is 3:00 at once in Berlin."""
    new = ALONE.assign(t=ALONE["t"] - 50 * DAY, began=ALONE["began"] - 50 * DAY)
    found = by_year.predict(new, ["2014-03-30T02:30"]).times
    assert found[0] == pd.Timestamp("2014-03-30T03:00+02:00")
