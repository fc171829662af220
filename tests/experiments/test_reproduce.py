import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.errors import UserError
from lupi.evaluation import MODES, draw_contexts, evaluate_tasks
from lupi.experiments import (
    PAPER_MODELS,
    Progress,
    RunFolder,
    collect,
    get_experiment,
    paper_settings,
    quick_settings,
    read_results,
    reproduce,
    reproduction,
    run,
)
from lupi.experiments.expected import expected_run
from lupi.experiments.reproduction import WATCH_SECONDS
from lupi.experiments.results import failures
from lupi.experiments.systems import make_data
from lupi.models import NeuralODEProcessSettings, load_process
from lupi.prediction import predict

QUICK = quick_settings(epochs=2)
EXPERIMENTS = ("stiffness", "lotka-volterra")
METRICS = {
    "mse",
    "rmse",
    "crps",
    "log_likelihood",
    "joint_log_likelihood",
    "std",
    "calibration_error",
    "spread_calibration_error",
    "spread_calibration_error_pooled",
    "spread_std",
    "spread_variance",
    "coverage_50",
    "coverage_90",
    "coverage_95",
}


@pytest.fixture
def copy(smoke_run, tmp_path):
    """A copy of the finished smoke run that a test may damage."""
    return shutil.copytree(smoke_run, tmp_path / "out")


def again(out, **changes):
    """The smoke run's own call once more; gives the progress it reports first."""
    seen: list[Progress] = []
    selection = {"experiments": EXPERIMENTS, "seeds": 2, "workers": 1} | changes
    reproduce(QUICK, out, **selection, on_progress=seen.append)
    return seen[0]


def test_results_json_has_a_record_for_every_experiment_model_seed_and_setting(smoke_run):
    content = json.loads((smoke_run / "results.json").read_text())
    assert content["schema"] == 2
    assert set(content) == {"schema", "settings", "records", "floors", "claims", "failures"}
    found = {(r["experiment"], r["model"], r["seed"], r["mode"]) for r in content["records"]}
    assert found == set(product(EXPERIMENTS, PAPER_MODELS, (0, 1), MODES))
    for record in content["records"]:
        sizes = {"parameters", "training_parameters"} if record["mode"] == "test" else set()
        assert set(record["metrics"]) == METRICS | sizes
        assert set(record["seconds"]) == {"train", "prepare", "evaluate"}
        for metric in record["metrics"].values():
            assert np.isfinite(metric["mean"])
            assert metric["stderr"] is None or metric["stderr"] >= 0


def test_the_paper_settings_are_the_papers():
    settings = paper_settings().experiments["stiffness"]
    assert (settings.data.num_training, settings.data.num_validation) == (400, 100)
    assert settings.training.epochs == 100
    assert settings.training.learning_rate == 1e-3
    assert settings.training.batch_size == 1
    assert settings.training.context_sizes == settings.evaluation.context_sizes == (5, 9)
    assert settings.training.target_sizes == (15, 50)
    assert (settings.evaluation.num_systems, settings.evaluation.num_samples) == (500, 32)
    assert paper_settings().experiments["lotka-volterra"].training.epochs == 550
    assert paper_settings(epochs=7).experiments["lotka-volterra"].training.epochs == 7


def test_nopi_and_lupi_of_a_seed_share_test_systems_and_contexts(smoke_run):
    first = RunFolder(smoke_run, "stiffness", "nopi", 1).predictions()
    second = RunFolder(smoke_run, "stiffness", "lupi", 1).predictions()
    other = RunFolder(smoke_run, "stiffness", "lupi", 0).predictions()
    for name in ("times", "observed", "privileged", "context"):
        np.testing.assert_array_equal(first[name], second[name])
    assert not np.array_equal(first["observed"], other["observed"])


def test_a_saved_model_gives_the_saved_predictions_again(smoke_run):
    folder = RunFolder(smoke_run, "lotka-volterra", "lupi", 0)
    process, arrays = load_process(folder.model_file), folder.predictions()
    ts = jnp.asarray(arrays["times"] / 10.0, dtype=float)
    context = Observations(
        ts, jnp.asarray(arrays["observed"][0]), jnp.asarray(arrays["context"][0])
    )
    keys = jax.random.split(jax.random.split(jax.random.key(0), 5)[4], 20)
    forecast = predict(process, context, ts, num_samples=8, key=keys[0])
    np.testing.assert_allclose(forecast.mean, arrays["test_mean"][0], atol=1e-5)


def test_saved_predictions_match_the_records(smoke_run):
    folder = RunFolder(smoke_run, "lotka-volterra", "lupi", 0)
    arrays = folder.predictions()
    mse = ((arrays["test_mean"] - arrays["observed"]) ** 2).mean()
    finished = folder.finished()
    assert finished is not None
    assert finished.records[0].metrics["mse"].mean == pytest.approx(float(mse), rel=1e-4)


def metrics_of(out, **chosen):
    """All metrics of the records of a folder, or of those that are chosen."""
    return {
        (r.experiment, r.model, r.seed, r.mode): r.metrics
        for r in read_results(out).records
        if all(getattr(r, name) == value for name, value in chosen.items())
    }


def test_the_number_of_workers_changes_no_number(smoke_run, tmp_path):
    again(tmp_path / "out", experiments=("stiffness",), workers=2)
    found, expected = metrics_of(tmp_path / "out"), metrics_of(smoke_run, experiment="stiffness")
    assert len(found) == 8
    assert found == expected
    for model in PAPER_MODELS:
        folders = [RunFolder(out, "stiffness", model, 1) for out in (tmp_path / "out", smoke_run)]
        one, other = (load_process(folder.model_file) for folder in folders)
        assert eqx.tree_equal(one, other)


def test_the_numbers_of_a_seed_are_the_same_whichever_others_are_asked_for(tmp_path):
    settings = QUICK.experiments["stiffness"], QUICK.models["cnp"]
    together = [RunFolder(tmp_path / "together", "stiffness", "cnp", seed) for seed in (3, 4, 5)]
    alone = RunFolder(tmp_path / "alone", "stiffness", "cnp", 4)
    _, expected, _ = run(together, *settings)
    (found,) = run([alone], *settings)
    assert [r.metrics for r in found.records] == [r.metrics for r in expected.records]
    one, other = (load_process(folder.model_file) for folder in (alone, together[1]))
    assert eqx.tree_equal(one, other)
    assert alone.history_file.read_bytes() == together[1].history_file.read_bytes()
    assert [path.name for path in (tmp_path / "alone").glob("runs/*/*/*")] == ["seed-4"]


def test_what_is_finished_is_not_done_again(copy):
    before = {path: path.stat().st_mtime_ns for path in copy.glob("runs/**/*")}
    assert again(copy).runs_done == 8
    assert before == {path: path.stat().st_mtime_ns for path in copy.glob("runs/**/*")}


def test_an_unfinished_run_is_redone_alone_and_gives_the_same_results(copy):
    unfinished = RunFolder(copy, "lotka-volterra", "nopi", 1)
    expected = unfinished.finished()
    unfinished.finished_file.unlink()
    untouched = RunFolder(copy, "stiffness", "nopi", 1).finished_file
    stamp = untouched.stat().st_mtime_ns
    progress = again(copy)
    one = sum(expected_run(QUICK, "lotka-volterra", "nopi"))
    assert progress.runs_done == 7
    assert progress.seconds - progress.seconds_done == pytest.approx(one)
    found = unfinished.finished()
    assert found is not None
    assert expected is not None
    assert [r.metrics for r in found.records] == [r.metrics for r in expected.records]
    assert untouched.stat().st_mtime_ns == stamp


def test_a_smaller_selection_loses_nothing(copy):
    again(copy, experiments=("stiffness",), seeds=1)
    assert len(read_results(copy).records) == 16


def test_settings_of_fewer_models_and_experiments_lose_nothing(copy):
    before = metrics_of(copy)
    fewer = {
        "experiments": {"stiffness": QUICK.experiments["stiffness"]},
        "models": {"nopi": QUICK.models["nopi"]},
    }
    settings = QUICK.model_copy(update=fewer)
    reproduce(settings, copy, experiments=("stiffness",), models=("nopi",), seeds=1, workers=1)
    assert metrics_of(copy) == before
    kept = read_results(copy).settings
    assert set(EXPERIMENTS) <= set(kept["experiments"])
    assert kept["models"]["lupi"]["process"]["hidden_size"] == 16


def test_another_folders_results_are_refused_and_kept(copy):
    before = (copy / "results.json").read_bytes()
    with pytest.raises(UserError, match="epochs 3 instead of 2 for stiffness"):
        reproduce(quick_settings(epochs=3), copy, workers=1)
    assert (copy / "results.json").read_bytes() == before


def test_results_of_another_preset_are_refused(copy):
    with pytest.raises(UserError, match="the preset best instead of paper"):
        reproduce(QUICK.model_copy(update={"preset": "best"}), copy, workers=1)


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="is not empty and holds no results"):
        reproduce(QUICK, tmp_path, workers=1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_folders_place_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError, match="found a file"):
        reproduce(QUICK, tmp_path / "out", workers=1)


def test_damaged_settings_are_refused(copy):
    (copy / "settings.json").write_text("{}")
    with pytest.raises(UserError, match="the file there cannot be read"):
        again(copy)


def test_another_versions_folder_is_refused(copy):
    text = (copy / "settings.json").read_text()
    (copy / "settings.json").write_text(text.replace(QUICK.version, "0.0.1"))
    with pytest.raises(UserError, match=r"instead of 0\.0\.1"):
        again(copy)


def test_a_damaged_run_file_is_named(copy):
    RunFolder(copy, "stiffness", "nopi", 0).finished_file.write_text('{"records": 3}')
    with pytest.raises(UserError, match=r"run\.json is not what .* delete that file"):
        again(copy)


def test_results_of_another_schema_are_refused(copy):
    text = (copy / "results.json").read_text()
    (copy / "results.json").write_text(text.replace('"schema": 2', '"schema": 1'))
    with pytest.raises(UserError, match="has schema 1, this version reads 2"):
        read_results(copy)
    with pytest.raises(UserError, match="run `lupi reproduce` first"):
        read_results(copy / "elsewhere")


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (
            {"experiments": ("stiffnes",)},
            "unknown experiment 'stiffnes'.*Did you mean 'stiffness'",
        ),
        ({"models": ("gp",)}, "unknown model 'gp': expected one of nopi, lupi, cnp"),
        ({"experiments": ()}, "expected at least one experiment, got none"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
    ],
)
def test_a_bad_selection_is_refused_before_anything_is_written(tmp_path, selection, message):
    with pytest.raises(UserError, match=message):
        reproduce(QUICK, tmp_path / "out", workers=1, **selection)
    assert not (tmp_path / "out").exists()


def test_a_disk_that_fills_loses_nothing_finished(tmp_path, monkeypatch):
    folders = [RunFolder(tmp_path, "stiffness", "cnp", seed) for seed in (3, 4)]

    save = RunFolder.save_predictions

    def full_with_the_second(folder, predictions):
        if folder == folders[1]:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(folder, predictions)

    monkeypatch.setattr(RunFolder, "save_predictions", full_with_the_second)
    with pytest.raises(OSError, match="No space left"):
        run(folders, QUICK.experiments["stiffness"], QUICK.models["cnp"])
    assert folders[0].finished_file.exists()
    assert not folders[1].finished_file.exists()
    assert not list(tmp_path.glob("**/*.partial"))


def test_a_killed_command_ends_its_workers_and_the_same_command_finishes(copy):
    redone = [RunFolder(copy, "stiffness", "lupi", seed) for seed in (0, 1)]
    for folder in redone:
        folder.finished_file.unlink()
        folder.history_file.unlink()
    expected = metrics_of(copy)
    script = (
        "from pathlib import Path; from lupi.experiments import *;"
        f"reproduce(quick_settings(epochs=2), Path({str(copy)!r}),"
        f"experiments={EXPERIMENTS!r}, seeds=2, workers=2)"
    )
    command = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    # Killed as soon as a worker has trained an epoch; the worker itself is not told.
    deadline = time.time() + 120
    while not any(folder.history_file.exists() for folder in redone):
        assert time.time() < deadline, "no worker started to train"
        time.sleep(0.02)
    workers = children_of(command.pid)
    assert workers
    os.kill(command.pid, signal.SIGKILL)
    command.wait()
    time.sleep(10 * WATCH_SECONDS)
    assert not [pid for pid in workers if is_running(pid)]
    assert any(folder.finished() is None for folder in redone)
    subprocess.run([sys.executable, "-c", script], check=True)
    assert all(folder.epochs_done() == 2 for folder in redone)
    assert metrics_of(copy) == expected


@pytest.fixture
def one_is_killed(tmp_path, monkeypatch):
    """Calls of three runs, of which a worker does not survive the second."""

    def run_or_be_killed(folders, *_):
        if folders[0].seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        folders[0].path.mkdir(parents=True)

    monkeypatch.setattr(reproduction, "run", run_or_be_killed)
    settings, experiment = QUICK.experiments["stiffness"], get_experiment("stiffness")
    folders = [RunFolder(tmp_path, "stiffness", "mean", seed) for seed in range(3)]
    return [([folder], settings, "mean", experiment) for folder in folders]


def test_a_run_whose_worker_is_killed_is_a_failure_and_the_others_go_on(one_is_killed, tmp_path):
    reproduction._run_in_processes(one_is_killed, 1, lambda: None, keep_going=True)
    assert all(folder.path.exists() for (folder,), *_ in one_is_killed)
    (failed,) = failures(tmp_path, ["stiffness"], ["mean"])
    assert failed.seed == 1
    assert "ended from outside, perhaps because memory ran out" in failed.reason


def test_where_failures_are_none_of_the_results_a_killed_worker_ends_the_command(one_is_killed):
    with pytest.raises(UserError, match=r"ended from outside.* fewer --workers \(there were 1\)"):
        reproduction._run_in_processes(one_is_killed, 1, lambda: None, keep_going=False)
    assert not one_is_killed[2][0][0].path.exists()


def children_of(parent: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True)
    return [int(pid) for pid in found.stdout.split()]


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True).stdout
    return bool(state) and not state.startswith(b"Z")


def test_what_the_program_itself_defines_is_run_in_its_own_process(tmp_path, monkeypatch):
    kind = type("Own", (type(QUICK.models["cnp"].process),), {"__module__": "__main__"})
    own = QUICK.models["cnp"].model_copy(update={"process": kind()})
    settings = QUICK.model_copy(update={"models": {"cnp": own}})
    here = []
    monkeypatch.setattr(reproduction, "run", lambda *call, on_epoch: here.append(call[0][0].seed))
    reproduce(settings, tmp_path, experiments=("stiffness",), models=("cnp",), seeds=4, workers=2)
    assert here == [0, 3]


def test_a_folder_in_use_by_another_command_is_refused(copy):
    with (copy / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another `lupi reproduce` is writing"):
            again(copy)


def test_a_run_that_lost_a_file_is_done_again(copy):
    folder = RunFolder(copy, "stiffness", "nopi", 0)
    folder.predictions_file.unlink()
    assert again(copy).runs_done == 7
    assert folder.predictions_file.exists()


def test_damaged_predictions_are_named(copy):
    folder = RunFolder(copy, "stiffness", "nopi", 0)
    folder.predictions_file.write_bytes(folder.predictions_file.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"predictions\.npz is damaged: delete that file"):
        folder.predictions()


def test_collecting_an_empty_folder_gives_no_records(tmp_path):
    results = collect(QUICK, tmp_path)
    assert (results.records, results.claims) == ([], [])


def test_only_the_training_setting_uses_privileged_information(smoke_run):
    settings = QUICK.experiments["stiffness"]
    process = load_process(RunFolder(smoke_run, "stiffness", "lupi", 0).model_file)
    test = make_data(get_experiment("stiffness"), settings, key=jax.random.key(5)).test
    contexts = draw_contexts(test.observations, (5, 9), key=jax.random.key(6))
    true, false = (
        evaluate_tasks(
            process,
            Task(test.observations, privileged),
            contexts,
            num_samples=8,
            process=process,
            key=jax.random.key(7),
        )
        for privileged in (test.privileged, test.privileged + 3.0)
    )
    means = [[found[mode].prediction.mean for mode in MODES] for found in (true, false)]
    np.testing.assert_array_equal(means[0][0], means[1][0])
    assert np.abs(means[0][1] - means[1][1]).max() > 1e-4


def test_the_starred_rows_see_the_whole_series(smoke_run):
    """With the whole series as its context a model without privileged parts predicts the same."""
    settings = QUICK.experiments["stiffness"]
    process = load_process(RunFolder(smoke_run, "stiffness", "nopi", 0).model_file)
    test = make_data(get_experiment("stiffness"), settings, key=jax.random.key(5)).test
    both = evaluate_tasks(
        process,
        test,
        test.observations,
        num_samples=8,
        process=process,
        key=jax.random.key(7),
    )
    np.testing.assert_allclose(
        both["test"].prediction.mean, both["train"].prediction.mean, atol=1e-5
    )


def test_the_settings_of_every_model_that_was_run_are_kept_with_the_results(smoke_run):
    kept = json.loads((smoke_run / "settings.json").read_text())["models"]
    assert set(kept) == {"nopi", "lupi"}
    assert kept["lupi"]["objective"]["kind"] == "elbo"
    assert kept["lupi"]["inference"]["kind"] == "amortised"
    assert kept["lupi"]["process"]["hidden_size"] == 16


def test_another_models_settings_are_refused(copy):
    wider = QUICK.models["nopi"].model_copy(
        update={"process": NeuralODEProcessSettings(hidden_size=32)}
    )
    settings = QUICK.model_copy(update={"models": QUICK.models | {"nopi": wider}})
    with pytest.raises(UserError, match="hidden_size 32 instead of 16 for nopi"):
        reproduce(settings, copy, workers=1)


def test_a_run_that_validates_rarely_has_a_history_that_can_be_read(tmp_path):
    training = QUICK.experiments["stiffness"].training.model_copy(
        update={"epochs": 4, "validations": 1}
    )
    settings = QUICK.experiments["stiffness"].model_copy(update={"training": training})
    folder = RunFolder(tmp_path, "stiffness", "cnp", 0)
    run([folder], settings, QUICK.models["cnp"])
    history = folder.history()
    assert np.isfinite(history["train_loss"]).all()
    np.testing.assert_array_equal(np.isfinite(history["validation_loss"]), [1, 0, 0, 1])


def test_a_model_that_comes_or_goes_in_the_registry_does_not_matter_to_others(copy, monkeypatch):
    path = copy / "settings.json"
    kept = json.loads(path.read_text())
    kept["models"]["gone"] = {"process": {"kind": "of another program"}}
    path.write_text(json.dumps(kept))
    assert again(copy).runs_done == 8
    assert json.loads(path.read_text()) == kept
