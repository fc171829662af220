"""Columns that are found to be positive: Python, command line, file and back."""

import json

import numpy as np
import pandas as pd
import pytest

import lupi
from lupi.cli import main
from lupi.forecasting.positive import find_positive, with_positive
from lupi.forecasting.settings import forecaster_settings

COLUMNS = {"series": "run", "time": "t", "observed": ["growing", "level"]}


def make_runs(number: int = 12) -> pd.DataFrame:
    """Exponential growth at rates of their own, with errors in proportion, and a level that is
    above 0 by chance."""
    rng = np.random.default_rng(0)
    runs = []
    for i in range(number):
        t = np.sort(rng.uniform(0, 4, 8))
        growing = np.exp(rng.normal(1, 0.3) * t + 0.1 * rng.standard_normal(8))
        level = 20 + rng.normal(0, 2) + np.sin(t) + 0.3 * rng.standard_normal(8)
        runs.append(pd.DataFrame({"run": i, "t": t, "growing": growing, "level": level}))
    return pd.concat(runs, ignore_index=True)


RUNS = make_runs()
NEW = {"t": [0.5, 1.5], "growing": [1.5, 4.0], "level": [20.0, 21.0]}
SMALL = {
    "members": 2,
    "inference": "amortised",
    "process": {"hidden_size": 8, "representation_size": 8},
    "train": {"epochs": 2, "batch_size": 4, "keep_best": False},
}


@pytest.fixture(scope="module")
def series() -> lupi.SeriesTable:
    return lupi.read_series(RUNS, **COLUMNS)


@pytest.fixture(scope="module")
def trained(series) -> lupi.Forecaster:
    return lupi.Forecaster(**SMALL).fit(series, seed=0, progress=False)


def test_what_is_better_forecast_as_logarithms_is_found(series):
    (found,) = find_positive(series, seed=0)
    assert found.column == "growing"
    assert found.crps_of_logarithms < 0.9 * found.crps
    assert "'growing'" in str(found)


def test_a_zero_has_room_in_what_is_found():
    runs = RUNS.assign(growing=RUNS["growing"].mask(RUNS.index == 3, 0.0))
    series = lupi.read_series(runs, **COLUMNS)
    (found,) = find_positive(series, seed=0)
    limit = with_positive(series, [found]).columns.limits["growing"]
    least = runs["growing"][runs["growing"] > 0].min()
    np.testing.assert_allclose(limit.room, least / 2)
    np.testing.assert_allclose(limit.within(limit.without(np.array([0.0, 2.0]))), [0.0, 2.0])


def test_a_column_with_a_value_below_zero_or_limits_of_its_own_is_left_alone():
    runs = RUNS.assign(other=RUNS["growing"]).drop(columns="level")
    runs.loc[3, "growing"] = -1e-6
    columns = COLUMNS | {"observed": ["growing", "other"], "limits": {"other": (0, 1e6)}}
    assert find_positive(lupi.read_series(runs, **columns), seed=0) == []


def test_two_series_are_too_few_to_find_anything(series):
    assert find_positive(series[:2], seed=0) == []


def test_forecasts_of_what_was_found_are_positive(trained):
    assert trained.provenance["positive"] == ["growing"]
    assert set(trained.columns.limits) == {"growing"}
    lower, _ = trained.predict(NEW, [0.1, 2.0, 6.0]).interval(coverage=0.999)
    assert (lower[:, 0] > 0).all()


def test_the_file_says_what_was_found(trained, tmp_path):
    trained.save(tmp_path / "model.lupi")
    again = lupi.load(tmp_path / "model.lupi")
    assert again == trained
    assert again.provenance["positive"] == ["growing"]
    lower, _ = again.predict(NEW, [2.0]).interval(coverage=0.999)
    assert lower[0, 0] > 0


def test_it_can_be_refused(series):
    left = lupi.Forecaster(**SMALL, find_positive=False).fit(series, seed=0, progress=False)
    assert "positive" not in left.provenance
    assert left.columns.limits == {}


def test_a_single_network_takes_columns_as_they_are():
    assert forecaster_settings().find_positive
    assert not forecaster_settings(blend=False).find_positive
    assert not forecaster_settings("paper").find_positive


def test_the_command_finds_it_says_so_and_shows_it(tmp_path, capsys):
    RUNS.to_csv(tmp_path / "runs.csv", index=False)
    options = ["--series", "run", "--time", "t", "--observed", "growing,level"]
    options += ["--members", "2", "--inference", "amortised", "--train.epochs", "2"]
    options += ["--process.hidden-size", "8", "--process.representation-size", "8", "--json"]
    options += ["--train.batch-size", "4", "--train.no-keep-best"]  # as `trained`: it is compiled
    model = str(tmp_path / "model.lupi")
    main(["train", str(tmp_path / "runs.csv"), *options, "--out", model])
    said = capsys.readouterr()
    assert "no value of 'growing' is below 0" in said.err
    assert json.loads(said.out)["positive"] == ["growing"]
    main(["show", model, "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["provenance"]["positive"] == ["growing"]
    assert shown["columns"]["limits"]["growing"]["lower"] == 0
