"""What `evaluate` says beyond the means: groups of values, series known before, widths."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lupi
from blended_runs import COLUMNS, RUNS
from lupi._machinery.array_files import read_arrays
from lupi.blending import Calibration
from lupi.data.series_table import Columns, SeriesTable
from lupi.forecasting import TableEvaluation
from lupi.forecasting.breakdown import groups_of
from lupi.forecasting.digests import MOST, digest_series, recognise
from lupi.forecasting.widening import read_widening, widening


@pytest.fixture(scope="module")
def trained(blended) -> lupi.Forecaster:
    return blended


@pytest.fixture(scope="module")
def table() -> SeriesTable:
    return lupi.read_series(RUNS, **COLUMNS)


@pytest.fixture(scope="module")
def evaluation(trained, table) -> TableEvaluation:
    return lupi.evaluate(trained, table, context="1:6")


def make_table(times: list[list[float]]) -> SeriesTable:
    lengths = [len(some) for some in times]
    rows = sum(lengths)
    return SeriesTable(
        Columns(series="run", time="t", observed=("x",)),
        np.arange(len(times)),
        np.append(0, np.cumsum(lengths)),
        np.concatenate(times),
        np.arange(float(rows))[:, None],
        np.zeros((len(times), 0)),
    )


def test_every_value_is_in_one_group_of_each_kind():
    rng = np.random.default_rng(0)
    shown = make_table([np.sort(rng.uniform(0, 1, n)).tolist() for n in (1, 3, 7, 15, 200)])
    hidden = make_table([np.sort(rng.uniform(0, 2, 30)).tolist() for _ in range(5)])
    groups = groups_of(shown, hidden, 1.0)
    for some in groups.values():
        assert (np.sum(list(some.values()), axis=0) == 1).all()
    assert list(groups["points_seen"]) == ["1", "2 to 4", "5 to 9", "10 to 19", "100 or more"]


def test_distance_is_from_the_last_point_shown_in_spans():
    groups = groups_of(make_table([[1.0, 3.0]]), make_table([[2.0, 3.5, 8.0, 11.0]]), 6.0)
    found = [np.flatnonzero(rows).tolist() for rows in groups["distance"].values()]
    assert found == [[0], [1], [2, 3]]


def test_the_groups_together_are_the_whole(evaluation):
    """The mean of squares of all values, from the groups and from the forecast itself."""
    forecast, truth = evaluation.forecast, evaluation.truth
    for way in evaluation.breakdown["forecaster"].values():
        assert sum(group.values["x"] for group in way.values()) == np.isfinite(truth[:, 0]).sum()
    (one,) = [
        group
        for name, group in evaluation.breakdown["forecaster"]["points_seen"].items()
        if name == "1"
    ]
    alone = [label for label in forecast.series if len(forecast[label].observations) == 1]
    squares = [
        ((forecast[label].mean - truth[forecast.labels == label])[:, 0] ** 2).mean()
        for label in alone
    ]
    assert one.metrics["x"]["mse"].mean == pytest.approx(np.mean(squares), rel=1e-4)


def test_the_plain_guesses_are_broken_down_too(trained, evaluation):
    assert set(evaluation.breakdown) == {"forecaster", *trained.parts}
    groups = evaluation.breakdown["last value"]["distance"]
    assert all(np.isfinite(group.metrics["y"]["crps"].mean) for group in groups.values())


def test_a_series_whose_forecast_runs_away_changes_nothing_for_the_others(
    trained, table, monkeypatch
):
    how = {"context": "first:0.5"}
    whole = lupi.evaluate(trained, table, **how)
    units = trained.normalisation
    means = (whole.forecast.mean - units.observed_mean) / units.observed_scale
    heights = np.abs(means).max(axis=1)
    peaks = [heights[whole.forecast.labels == label].max() for label in table.labels]
    worst = int(np.argmax(peaks))
    monkeypatch.setattr("lupi.forecasting.answers.RUNAWAY", np.sort(peaks)[-2:].mean())
    found = lupi.evaluate(trained, table, **how)
    assert list(found.refused) == [table.labels[worst]]
    others = lupi.evaluate(trained, table[np.arange(len(table)) != worst], **how)
    assert found.parts == others.parts
    assert found.breakdown == others.breakdown


def test_the_table_of_training_is_recognised_whole_and_in_part(trained, table, evaluation):
    assert evaluation.recognised == (10, 10)
    part = recognise(trained.provenance, table[:3])
    assert part == (3, 3)
    new = replace(table, values=table.values + (table.times > 4)[:, None])
    changed = {
        label
        for i, label in enumerate(table.labels)
        if table.times[slice(*table.offsets[i : i + 2])].max() > 4
    }
    assert recognise(trained.provenance, new) == (10 - len(changed), 10)
    assert f"{10 - len(changed)} of 10 series" in str(recognise(trained.provenance, new))


def test_series_are_recognised_under_other_names_from_text_and_beside_new_ones(trained, tmp_path):
    one = RUNS[RUNS["run"] == "r4"].assign(run="other")
    new = pd.DataFrame({"run": "new", "t": [0.0, 1.0], "x": [9.0, 9.5], "y": [1.0, 2.0], "k": 1.0})
    path = tmp_path / "some.csv"
    pd.concat([one, new]).to_csv(path, index=False)
    found = recognise(trained.provenance, lupi.read_series(path, **COLUMNS))
    assert found == (1, 2)


def test_without_digests_only_the_whole_table_is_recognised(trained, table):
    data = {k: v for k, v in trained.provenance["data"].items() if k != "digests"}
    assert recognise({"data": data}, table) == (10, 10)
    assert recognise({"data": data}, table[:9]) == (0, 9)
    assert str(recognise({"data": data}, table[:9])) == ""


def test_digests_are_few():
    many = make_table([[0.0, 1.0]] * (MOST + 1000))
    assert len(digest_series(many)) == 12 * MOST


def test_widening_is_the_product_of_both_factors_and_of_students_tails():
    own = Calibration(np.log([2.0, 1.0, 9.0]).astype(np.float32), np.ones(64, np.float32))
    whole = Calibration(np.log([1.5, 1.0, 1.0]).astype(np.float32), np.full(64, 1.1, np.float32))
    near, far = widening(own, whole)
    assert near.factor == pytest.approx(2.0 * 1.5 * 1.1, rel=1e-4)
    assert far.factor == pytest.approx(2.0 * 1.5 * 1.1 * 3.0, rel=1e-4)
    assert (near.beyond, far.beyond) == (0.0, 0.5)


def test_widths_of_student_widen_as_students_quantiles_do():
    levels = (np.arange(64) + 0.5) / 64
    widths = np.sqrt(5 / stats.chi2(5).ppf(levels)).astype(np.float32)
    nothing = Calibration.none()
    student = Calibration(nothing.coefficients, widths)
    expected = stats.t(5).ppf(0.95) / stats.norm.ppf(0.95)
    assert widening(nothing, student)[0].factor == pytest.approx(expected, rel=0.02)


def test_the_file_tells_how_much_was_widened(trained, tmp_path):
    trained.save(tmp_path / "model.lupi")
    arrays = read_arrays(tmp_path / "model.lupi", kind="forecaster").arrays
    assert read_widening(arrays, "damaged") == trained.widening


def test_a_forecaster_says_how_much_it_was_widened(trained, evaluation):
    assert evaluation.widening == trained.widening
    assert len(trained.widening) == 2
