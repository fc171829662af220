"""A table of series as an experiment, from its division to its report."""

import dataclasses
import json
import pickle

import jax
import numpy as np
import pytest

import lupi
from lupi.data import SeriesTable
from lupi.data.generation import simulate_table
from lupi.errors import UserError
from lupi.evaluation import MODES, draw_contexts
from lupi.experiments import (
    EXPERIMENTS,
    Experiment,
    Progress,
    RunFolder,
    paper_settings,
    reproduce,
    run,
    table_settings,
)
from lupi.experiments.running import seeds_beside
from lupi.experiments.systems import make_data
from lupi.models import load_process
from lupi.report import write_report
from lupi.systems import DampedOscillators


def springs(num_series: int = 20, *, num_points: int = 12, irregular: bool = True) -> SeriesTable:
    """Springs observed at times of their own, some values missing."""
    table = simulate_table(
        DampedOscillators(k=lupi.Uniform(0.2, 1.0), privileged=("k",)),
        num_series,
        horizon=10.0,
        num_points=num_points,
        noise=0.05,
        irregular=irregular,
        key=jax.random.key(0),
    )
    values = table.values.copy()
    values[::7, 1] = np.nan
    return dataclasses.replace(table, values=values)


MINE = {"springs": Experiment.of_table(springs())}
SETTINGS = table_settings(MINE, epochs=2)


@pytest.fixture(scope="module")
def data():
    return make_data(MINE["springs"], SETTINGS.experiments["springs"], key=jax.random.key(0))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An output folder of two seeds of a model without an ODE, and their results."""
    out = tmp_path_factory.mktemp("tables") / "out"
    return out, reproduce(SETTINGS, out, experiments=MINE, models=["cnp"], seeds=2, workers=1)


# Data


def test_the_words_of_a_table_are_its_columns():
    experiment = MINE["springs"]
    assert experiment.quantities == ("x1", "x2")
    assert experiment.privileged == "k"
    assert experiment.title == "x1, x2 of 20 series"
    assert Experiment.of_table(springs(), title="Springs").title == "Springs"
    with pytest.raises(UserError, match="expected the series that `read_series` gives, got str"):
        Experiment.of_table("runs.csv")


def test_training_validation_and_test_series_are_different_ones_of_the_right_number(data):
    parts = [data.training, data.validation, data.test]
    assert [len(part) for part in parts] == [14, 2, 4]
    assert len(np.unique(np.concatenate([part.privileged for part in parts]))) == 20


def series_of(data) -> list[np.ndarray]:
    """Which series of the table each part has: the order of privileged values is kept."""
    parts = [data.training, data.validation, data.test]
    shown = np.concatenate([part.privileged[:, 0] for part in parts])
    found = np.argsort(springs().privileged[:, 0])[np.argsort(np.argsort(shown))]
    return np.split(found, np.cumsum([len(part) for part in parts[:-1]]))


def test_units_are_those_of_the_training_series(data):
    table, (training, _, test) = springs(), series_of(data)
    known = table[training].values
    mean, std = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    seen = data.test.observations
    for i, chosen in enumerate(test):
        rows = slice(*table.offsets[chosen : chosen + 2])
        # What is later than all that is trained on is left out.
        there = table.times[rows] <= table[training].times.max()
        number = there.sum()
        np.testing.assert_allclose(data.times[i, :number], table.times[rows][there], atol=1e-5)
        values = np.where(seen.known[i], seen.ys[i] * std + mean, np.nan)[:number]
        np.testing.assert_allclose(values, table.values[rows][there], atol=1e-5)
        assert not seen.mask[i, number:].any()


def test_the_floor_is_the_error_of_the_mean_of_the_training_series_that_reach_a_time(data):
    table, (training, _, _) = springs(), series_of(data)
    known = table[training].values
    mean, std = np.nanmean(known, axis=0), np.nanstd(known, axis=0)

    def mean_at(time: float, column: int) -> float:
        found = []
        for chosen in training:
            rows = slice(*table.offsets[chosen : chosen + 2])
            there = ~np.isnan(table.values[rows, column])
            times, values = table.times[rows][there], table.values[rows, column][there]
            found.append(np.interp(time, times, values, left=np.nan, right=np.nan))
        return (np.nanmean(found) - mean[column]) / std[column]

    seen, errors = data.test.observations, []
    for i in range(len(data.test)):
        points = np.argwhere(seen.known[i])
        errors.append(
            np.mean([(seen.ys[i, t, j] - mean_at(data.times[i, t], j)) ** 2 for t, j in points])
        )
    # The grid has the times of the training series, between which both go in straight lines.
    assert data.floor.mean == pytest.approx(np.mean(errors), rel=2e-2)


def test_contexts_are_real_points_alone(data):
    seen = data.test.observations
    contexts = draw_contexts(seen, (5, 9), key=jax.random.key(1))
    assert not (contexts.mask & ~seen.mask).any()
    assert (contexts.mask.sum(axis=1) >= np.minimum(5, seen.mask.sum(axis=1))).all()
    assert (contexts.mask.sum(axis=1) <= 9).all()


# Settings


def test_settings_fit_the_number_and_the_length_of_the_series():
    short = {"short": Experiment.of_table(springs(10, num_points=6))}
    settings = table_settings(short).experiments["short"]
    assert (settings.data.num_training, settings.data.num_validation) == (7, 1)
    assert settings.evaluation.num_systems == 2
    length = int(np.median(springs(10, num_points=6).lengths))
    assert settings.training.context_sizes == (length // 2, length // 2)
    assert settings.training.target_sizes == (length, length)
    assert settings.evaluation.context_sizes == (length // 2, length // 2)
    assert settings.training.num_epochs(7) * 7 >= 14_000


def test_long_series_have_the_papers_sizes():
    long = {"long": Experiment.of_table(springs(5, num_points=120))}
    settings = table_settings(long, epochs=3).experiments["long"]
    assert settings.training == paper_settings(epochs=3).experiments["stiffness"].training
    assert settings.evaluation.context_sizes == (5, 9)


def test_the_training_of_a_forecaster_can_be_had():
    train = lupi.forecaster_settings().train
    training = table_settings(MINE, training=train).experiments["springs"].training
    assert (training.learning_rate, training.keep_best) == (train.learning_rate, True)
    assert training.batch_size == 8
    few = {"few": Experiment.of_table(springs(6))}
    assert table_settings(few, training=train).experiments["few"].training.batch_size == 3


@pytest.mark.parametrize(("number", "shares"), [(4, {}), (10, {"test_share": 0.8})])
def test_too_few_series_to_divide_are_refused(number, shares):
    few = {"few": Experiment.of_table(springs(number))}
    with pytest.raises(UserError, match=r"leave \d to train on, expected at least 2"):
        table_settings(few, **shares)


def test_a_simulated_experiment_is_no_table():
    with pytest.raises(UserError, match="expected experiments on tables, got 'stiffness'"):
        table_settings(EXPERIMENTS)


# Runs


def test_an_experiment_goes_to_a_worker_as_it_is():
    for experiment in (MINE["springs"], EXPERIMENTS["stiffness"]):
        arrived = pickle.loads(pickle.dumps(experiment))
        assert arrived.title == experiment.title
        settings = SETTINGS.experiments["springs"]
        first, second = (
            make_data(one, settings, key=jax.random.key(3)) for one in (experiment, arrived)
        )
        np.testing.assert_array_equal(first.test.observations.ys, second.test.observations.ys)


def test_a_run_on_a_table_leaves_all_its_files_and_finite_metrics(finished):
    out, results = finished
    assert [(r.seed, r.mode) for r in results.records] == [(s, m) for s in (0, 1) for m in MODES]
    for record in results.records:
        assert all(np.isfinite(metric.mean) for metric in record.metrics.values())
    assert len(results.floors) == 2
    assert results.claims == []
    folder = RunFolder(out, "springs", "cnp", 0)
    assert folder.finished() is not None
    assert folder.epochs_done() == 2
    assert load_process(folder.model_file).observation_size == 2


def test_saved_predictions_match_the_records_where_values_are_known(finished):
    out, results = finished
    arrays = RunFolder(out, "springs", "cnp", 1).predictions()
    assert arrays["times"].shape == arrays["known"].shape[:2] == arrays["context"].shape
    assert not (arrays["context"] & ~arrays["known"].any(axis=-1)).any()
    errors = np.where(arrays["known"], (arrays["test_mean"] - arrays["observed"]) ** 2, 0.0)
    mse = errors.sum(axis=(1, 2)) / arrays["known"].sum(axis=(1, 2))
    found = next(r for r in results.records if (r.seed, r.mode) == (1, "test"))
    assert found.metrics["mse"].mean == pytest.approx(mse.mean(), rel=1e-4)


def test_what_is_finished_is_not_done_again_and_another_table_is_refused(finished):
    out, _ = finished
    seen: list[Progress] = []
    selection = {"models": ["cnp"], "seeds": 2, "workers": 1}
    reproduce(SETTINGS, out, experiments=MINE, **selection, on_progress=seen.append)
    assert (seen[0].runs_done, len(seen)) == (2, 1)
    assert json.loads((out / "settings.json").read_text())["tables"] == {
        "springs": springs().fingerprint()
    }
    other = {"springs": Experiment.of_table(springs()[::-1])}
    with pytest.raises(UserError, match="this run: another table for springs"):
        reproduce(SETTINGS, out, experiments=other, **selection)


@pytest.mark.slow
def test_seeds_that_cannot_train_together_train_one_by_one(tmp_path):
    """A series later than all others is nothing to validate on, so seeds differ in their number."""
    table = springs(8, num_points=8, irregular=False)
    times = table.times + 100.0 * (np.arange(len(table.times)) >= table.offsets[-2])
    experiment = Experiment.of_table(dataclasses.replace(table, times=times))
    settings = table_settings({"late": experiment}, epochs=1, validation_share=0.25)
    own = settings.experiments["late"]

    def sizes(seed: int) -> tuple[int, int]:
        data = make_data(experiment, own, key=jax.random.split(jax.random.key(seed), 5)[0])
        return len(data.validation), len(data.test)

    first = next(  # of three seeds that have as much to be tested on, and not to validate on
        seed
        for seed in range(0, 60, 3)
        if len({sizes(one) for one in seeds_beside(seed)}) > 1
        and {sizes(one)[1] for one in seeds_beside(seed)} == {2}
    )
    folders = [RunFolder(tmp_path, "late", "cnp", seed) for seed in (first, first + 1)]
    found = run(folders, own, settings.models["cnp"], experiment)
    assert [run.records[0].seed for run in found] == [first, first + 1]
    assert all(folder.finished() is not None for folder in folders)


@pytest.mark.parametrize(
    ("experiments", "message"),
    [
        ({"stiffness": MINE["springs"]}, "named 'stiffness', as one of the paper's"),
        ({"../springs": MINE["springs"]}, "that can name folders, got '../springs'"),
        ({"spring": MINE["springs"]}, "unknown experiment 'spring': .* Did you mean 'springs'"),
        (("springs",), "unknown experiment 'springs': expected one of stiffness, damping"),
        (
            {"springs": Experiment.of_table(springs(10))},
            r"ask for 20 series \(14 to train on.* 10:",
        ),
    ],
)
def test_a_bad_selection_is_refused_before_anything_is_written(tmp_path, experiments, message):
    with pytest.raises(UserError, match=message):
        reproduce(SETTINGS, tmp_path / "out", experiments=experiments, workers=1)
    assert not (tmp_path / "out").exists()


# The report


def test_the_report_has_the_tables_of_own_experiments(finished):
    out, results = finished
    (table,) = write_report(out, MINE)
    assert [row.label for row in table.rows] == ["CNP", "CNP*"]
    assert table.title == "x1, x2 of 20 series"
    mse = np.mean([r.metrics["mse"].mean for r in results.records if r.mode == "test"])
    assert table.rows[0].cells[0].text.startswith(f"{mse / 1e-2:.2f} ±")
    assert "none was run here" in (out / "report.html").read_text()
    assert (out / "figures" / "springs.png").stat().st_size > 10_000
    with pytest.raises(UserError, match="holds results of the experiment 'springs'"):
        write_report(out)
