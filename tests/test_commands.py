"""From a file to a forecast, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import lupi
from lupi.cli import main

COLUMNS = ["--series", "series", "--time", "t", "--observed", "x1,x2", "--privileged", "k"]
SMALL = ["--train.epochs", "2", "--process.hidden-size", "8", "--train.batch-size", "8"]
SMALL += ["--members", "1", "--no-blend"]
QUICK = [*SMALL, "--inference", "amortised"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a simulated data set and a model trained on it."""
    folder = tmp_path_factory.mktemp("commands")
    runs = str(folder / "runs.parquet")
    # Fewer than 20 points: contexts of 20 would be one more size to compile for.
    size = ["--series", "24", "--points", "19"]
    main(["simulate", "stiffness", "--out", runs, *size, "--noise", "0.1", "--irregular"])
    main(["train", runs, *COLUMNS, *SMALL, "--out", str(folder / "model.lupi")])
    return folder


@pytest.fixture(scope="module")
def some(folder) -> str:
    """A table of six of the runs: fewer to be judged on."""
    runs = pd.read_parquet(folder / "runs.parquet")
    runs[runs["series"] < 6].to_csv(folder / "some.csv", index=False)
    return str(folder / "some.csv")


def fails(arguments: list[str], capsys) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "parquet", "nc"])
def test_a_simulated_table_is_read_again(tmp_path, capsys, suffix):
    path = str(tmp_path / f"runs.{suffix}")
    main(["simulate", "damping", "--out", path, "--series", "5", "--points", "7"])
    capsys.readouterr()
    columns = [*COLUMNS[:-1], "c"]
    main(["check", path, *columns, "--json"])
    understood = json.loads(capsys.readouterr().out)
    assert understood["series"] == 5
    assert understood["rows"] == 35
    assert understood["time"] == {"column": "t", "min": 0.0, "max": 10.0}
    assert understood["problems"] == []


def test_systems_beside_the_papers_are_simulated_by_name(tmp_path, capsys):
    path = tmp_path / "doses.csv"
    main(["simulate", "drug", "--out", str(path), "--series", "3", "--points", "5", "--json"])
    options = json.loads(capsys.readouterr().out)["options"]
    assert options.endswith("--observed concentration --privileged clearance")
    assert pd.read_csv(path)["t"].max() == 24.0


def test_noise_and_irregular_times_are_what_was_asked_for(folder):
    runs = pd.read_parquet(folder / "runs.parquet")
    lengths = runs.groupby("series").size()
    assert lengths.between(10, 19).all()
    assert lengths.nunique() > 3
    noise = (runs["x1"] + runs["x2"]) / np.sqrt(2)  # the two masses mirror each other
    assert noise.std() / runs["x1"].std() == pytest.approx(0.1, rel=0.15)


def test_check_lists_every_problem_and_ends_with_2(tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_text("run,t,x\na,0,1\na,1,inf\na,,2\na,3,4\nb,0,oops\nb,1,3\nb,2,5\n")
    error = fails(["check", str(path), "--series", "run", "--time", "t", "--observed", "x"], capsys)
    assert "3 problems" in error
    for part in ("row 2", "row 3", "row 5", "oops"):
        assert part in error


def test_train_says_what_it_made(folder, capsys):
    main(["show", str(folder / "model.lupi"), "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["columns"]["observed"] == ["x1", "x2"]
    assert shown["settings"]["train"]["epochs"] == 2
    assert shown["settings"]["process"]["hidden_size"] == 8
    assert shown["settings"]["process"]["min_observation_scale"] < 0.1  # of the preset, not paper's
    assert shown["provenance"]["data"]["series"] == 24
    assert not (folder / "model.lupi.checkpoint").exists()
    main(["show", str(folder / "model.lupi")])
    assert "observed: ['x1', 'x2']" in capsys.readouterr().out


def test_predict_writes_a_forecast_and_a_picture(folder, capsys):
    new = pd.read_parquet(folder / "runs.parquet").query("series < 2").groupby("series").head(4)
    new.drop(columns="k").to_csv(folder / "new.csv", index=False)
    out, plot = folder / "forecast.parquet", folder / "forecast.png"
    arguments = [str(folder / "model.lupi"), str(folder / "new.csv"), "--times", "0:12:25"]
    capsys.readouterr()
    found = folder / "found.csv"
    files = ["--out", str(out), "--plot", str(plot), "--systems", str(found)]
    main(["predict", *arguments, *files, "--json"])
    printed = json.loads(capsys.readouterr().out)
    printed.pop("unlike_the_training_data", None)  # after two epochs anything may be
    (warning,) = printed.pop("warnings")
    assert "10 of 50 times lie beyond the time of the training data" in warning
    assert printed == {
        "file": str(out),
        "series": 2,
        "rows": 50,
        "systems": str(found),
        "picture": str(plot),
    }
    systems = pd.read_csv(found)
    assert list(systems["series"]) == [0, 1]
    assert (systems["k_lower"] < systems["k_upper"]).all()
    forecast = pd.read_parquet(out)
    assert len(forecast) == 50
    assert forecast["t"].max() == 12
    assert (forecast["x1_lower"] < forecast["x1_upper"]).all()
    assert plot.read_bytes().startswith(b"\x89PNG")
    again = ["--times", "1,2.5", "--out", str(folder / "forecast.nc"), "--privileged.k", "0.5"]
    main(["predict", *arguments[:2], *again])
    assert "Found of each run" in capsys.readouterr().out
    assert (folder / "forecast.nc").exists()


def test_evaluate_writes_metrics_and_a_report_and_warns_of_runs_that_were_trained_on(
    folder, some, capsys
):
    model, out = str(folder / "model.lupi"), folder / "evaluation"
    main(["evaluate", model, some, "--out", str(out), "--json"])
    said = capsys.readouterr()
    printed = json.loads(said.out)
    assert printed == json.loads((out / "metrics.json").read_text())
    x1 = printed["x1"]
    assert 0 < x1["coverage_90"]["mean"] <= 1
    assert np.isfinite(x1["log_likelihood"]["mean"])
    assert x1["calibration_error"]["mean"] >= 0
    assert x1["coverage_50"]["mean"] < x1["coverage_95"]["mean"]
    assert 0 <= printed["privileged"]["k"]["coverage_90"] <= 1
    assert "trained on every series of this table" in said.err
    assert printed["trained_on"] == {"number": 6, "of": 6}
    near = printed["breakdown"]["forecaster"]["distance"]["before or between what was shown"]["x1"]
    assert near["values"] > 0
    assert 0 <= near["coverage_90"]["mean"] <= 1
    assert list(printed["breakdown"]["forecaster"]["points_seen"]) == ["5 to 9"]
    page = (out / "report.html").read_text()
    for part in ("data:image/png", "Not new runs", "With few points and with many"):
        assert part in page
    main(["evaluate", model, some, "--out", str(out), "--overwrite"])
    assert "Report:" in capsys.readouterr().out


def test_evaluate_does_not_warn_of_new_runs(folder, tmp_path, capsys):
    new, out = str(tmp_path / "new.csv"), tmp_path / "e"
    main(["simulate", "stiffness", "--out", new, "--series", "6", "--points", "19", "--seed", "9"])
    capsys.readouterr()
    main(["evaluate", str(folder / "model.lupi"), new, "--out", str(out), "--json"])
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["trained_on"] == {"number": 0, "of": 6}
    assert "Not new runs" not in (out / "report.html").read_text()


def test_a_finished_training_run_again_says_so_and_changes_nothing(folder, capsys):
    model = folder / "model.lupi"
    before = model.stat()
    arguments = ["train", str(folder / "runs.parquet"), *COLUMNS, *SMALL, "--out", str(model)]
    capsys.readouterr()
    main([*arguments, "--json"])
    printed = capsys.readouterr()
    assert "is finished" in printed.err
    assert json.loads(printed.out)["epochs"] == 2
    after = model.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("kept", [False, True])
def test_ctrl_c_in_training_says_whether_anything_was_saved(folder, monkeypatch, capsys, kept):
    def interrupted(self, series, *, seed, checkpoint):
        if kept:
            checkpoint.write_bytes(b"some epochs")
        raise KeyboardInterrupt

    monkeypatch.setattr(lupi.Forecaster, "fit", interrupted)
    out = str(folder / f"stopped-{kept}.lupi")
    with pytest.raises(SystemExit) as stop:
        main(["train", str(folder / "runs.parquet"), *COLUMNS, *SMALL, "--out", out])
    assert stop.value.code == 130
    error = capsys.readouterr().err
    assert ("Nothing was saved yet" in error) is not kept
    assert ("The same command goes on from here" in error) is kept


def test_settings_come_from_a_file_and_options_go_before_it(folder, capsys):
    config = folder / "settings.toml"
    config.write_text("[train]\nepochs = 7\nlearning_rate = 0.002\n")
    runs, out = str(folder / "runs.parquet"), str(folder / "other.lupi")
    options = [*QUICK, "--model", "cnp"]  # which is compiled soon
    options += ["--train.contexts.first", "2", "--train.contexts.one", "1"]
    main(["train", runs, *COLUMNS, *options, "--config", str(config), "--out", out, "--json"])
    assert json.loads(capsys.readouterr().out)["epochs"] == 2
    main(["show", out, "--json"])
    train = json.loads(capsys.readouterr().out)["settings"]["train"]
    assert (train["epochs"], train["learning_rate"]) == (2, 0.002)
    assert {kind for kind, share in train["contexts"].items() if share} == {"first", "one"}


@pytest.mark.parametrize("form", ["option", "file"])
def test_another_model_is_trained_predicts_is_evaluated_and_shown(
    folder, some, tmp_path, capsys, form
):
    runs, model = str(folder / "runs.parquet"), str(tmp_path / "cnp.lupi")
    config = tmp_path / "settings.toml"
    config.write_text('model = "cnp"\n')
    choice = {"option": ["--model", "cnp"], "file": ["--config", str(config)]}[form]
    main(["train", runs, *COLUMNS, *QUICK, *choice, "--out", model, "--json"])
    assert json.loads(capsys.readouterr().out)["epochs"] == 2
    main(["show", model, "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["settings"]["model"] == "cnp"
    assert shown["settings"]["process"]["kind"] == "conditional-process"
    assert shown["settings"]["process"]["hidden_size"] == 8
    assert shown["process"]["privileged_size"] == 0
    new, out = tmp_path / "new.csv", tmp_path / "forecast.csv"
    pd.read_parquet(runs).query("series == 1").head(4).to_csv(new, index=False)
    main(["predict", model, str(new), "--times", "0:12:25", "--out", str(out)])
    assert np.isfinite(pd.read_csv(out).to_numpy()).all()
    capsys.readouterr()
    main(["evaluate", model, some, "--out", str(tmp_path / "evaluation"), "--json"])
    metrics = json.loads(capsys.readouterr().out)
    assert np.isfinite(metrics["x1"]["crps"]["mean"])


def test_the_option_goes_before_the_file_also_for_the_model(folder, tmp_path, capsys):
    config, model = tmp_path / "settings.toml", str(tmp_path / "model.lupi")
    config.write_text('model = "lupi"\n')
    arguments = [str(folder / "runs.parquet"), *COLUMNS, *QUICK, "--config", str(config)]
    main(["train", *arguments, "--model", "cnp", "--out", model])
    assert "cnp makes no use of privileged values" in capsys.readouterr().err
    main(["show", model, "--json"])
    assert json.loads(capsys.readouterr().out)["settings"]["model"] == "cnp"


def test_predict_without_observations_writes_what_the_model_believes_of_any_run(folder, capsys):
    model, out, plot = folder / "model.lupi", folder / "prior.csv", folder / "prior.png"
    capsys.readouterr()
    main(["predict", str(model), "--out", str(out), "--plot", str(plot), "--json"])
    assert json.loads(capsys.readouterr().out)["rows"] == 100
    forecast = pd.read_csv(out)
    assert "series" not in forecast
    assert np.isfinite(forecast.to_numpy()).all()
    expected = lupi.load(model).predict().to_dataframe()
    np.testing.assert_allclose(forecast, expected)
    assert plot.read_bytes().startswith(b"\x89PNG")
    main(["predict", str(model), "--times", "1,2.5", "--out", str(out), "--overwrite"])
    assert pd.read_csv(out)["t"].tolist() == [1, 2.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "orbit", "--out", "a.csv"], "unknown system 'orbit'"),
        (["simulate", "damping", "--out", "a.xlsx"], "ending in .csv, .parquet, .nc, got 'a.xlsx'"),
        (
            ["simulate", "damping", "--out", "a.csv", "--points", "1"],
            "--points must be a whole number from 2",
        ),
        (["simulate", "damping", "--out", "a.csv", "--noise", "nan"], "--noise must be from 0 to"),
        (["predict", "m.lupi", "new.csv", "--out", "new.csv"], "is the file to be read"),
        (["predict", "m.lupi", "new.csv", "--out", "f.csv", "--plot", "f.xyz"], "must end in .png"),
        (["check", "none.csv", "--time", "t", "--observed", "x"], "none.csv"),
        (["show", "none.lupi"], "expected a lupi file at none.lupi, found none"),
        (["predict", "none.lupi", "new.csv", "--out", "f.csv"], "found none: check the path"),
        (["predict", "none.lupi", "new.csv", "--out", "f.xyz"], "ending in .csv"),
        (["evaluate", "none.lupi", "a.csv", "--context", "9:5"], "the smaller first"),
        (["train", "RUNS", *COLUMNS, "--out", "m", "--config", "none.toml"], "found none"),
        (["train", "RUNS", *COLUMNS, "--out", "m", "--config", "BAD"], "setting train.lr: Extra"),
        (["train", "RUNS", *COLUMNS, "--out", "m", "--train.epochs", "0"], "setting train.epochs"),
        (
            ["train", "RUNS", *COLUMNS, "--out", "m", "--process.width", "9"],
            "setting process.width: Extra inputs are not permitted, got '9'",
        ),
        (["train", "RUNS", *COLUMNS, "--out", "m", "--train.width", "9"], "Unknown option"),
        (
            ["train", "RUNS", *COLUMNS, "--out", "m", "--model", "lupy"],
            "unknown model 'lupy': expected one of nopi, lupi, cnp, np, np-lupi, ",
        ),
        (
            ["train", "RUNS", *COLUMNS, "--out", "m", "--config", "MODEL"],
            "model.toml: unknown model 'cmp': expected one of nopi, lupi, cnp, np, np-lupi, ",
        ),
    ],
)
def test_a_users_mistake_is_one_message_and_exit_code_2(
    folder, tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[train]\nlr = 3\n")
    (tmp_path / "model.toml").write_text('model = "cmp"\n')
    places = {"RUNS": str(folder / "runs.parquet"), "BAD": "bad.toml", "MODEL": "model.toml"}
    error = fails([places.get(argument, argument) for argument in arguments], capsys)
    assert message in error
    assert "Traceback" not in error
