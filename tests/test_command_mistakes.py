"""Settings and numbers that no command can follow: one message, exit code 2, nothing written."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lupi.cli import main
from lupi.commands.times import read_times
from lupi.errors import UserError

OLD = Path(__file__).parent / "old_files" / "forecaster.lupi"
COLUMNS = ["--series", "run", "--time", "t", "--observed", "x,y", "--privileged", "k"]
HUGE = "9" * 5000


@pytest.fixture
def runs(tmp_path):
    """A small table that could be trained on."""
    t, k = np.tile(np.arange(4.0), 4), np.repeat([1.0, 2.0, 3.0, 4.0], 4)
    columns = {"run": np.repeat(list("abcd"), 4), "t": t, "x": 10 + np.sin(k * t), "y": k * t}
    pd.DataFrame(columns | {"k": k}).to_csv(tmp_path / "runs.csv", index=False)
    return tmp_path / "runs.csv"


def fails(arguments: list, capsys) -> str:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("lupi: ")
    assert len(error) < 600
    return error


TRAIN = {
    "--seed 1.5": "--seed: expected a whole number, got '1.5'",
    "--seed 2.0": "--seed: expected a whole number, got '2.0'",
    "--seed -1": "the seed must be a whole number from 0 to 4294967295, got -1",
    f"--seed {HUGE}": "--seed: expected a whole number",
    "--members 1.5": "--members: expected a whole number, got '1.5'",
    "--train.epochs 1.5": "--train.epochs: expected a whole number",
    "--train.context-sizes 1.5 3": "--train.context-sizes: unable to convert",
    f"--train.context-sizes 1 {2**31}": "train.context_sizes.1: Input should be less than",
    "--train.contexts.frst 1": "train.contexts.frst: Extra inputs are not permitted",
    "--train.contexts.first 0": "at least one kind of context must have a share above 0",
    f"--train.target-sizes 1 {2**70}": "train.target_sizes.1: Input should be less than",
}


@pytest.mark.parametrize("options", TRAIN, ids=lambda options: options[:30])
def test_training_is_not_begun_with_such_options(runs, tmp_path, capsys, options):
    out = tmp_path / "model.lupi"
    arguments = ["train", runs, *COLUMNS, *options.split(), "--out", out]
    assert TRAIN[options] in fails(arguments, capsys)
    assert not out.exists()


CONFIGS = {
    "nested deeply": ("a=" + "[" * 8000 + "]" * 8000, "got values nested without end"),
    "a key of many parts": ("a." * 2000 + "b=1", "got values nested without end"),
    "nested 100,000 deep": ("a=" + "[" * 100_000 + "]" * 100_000, "up to 16,384 bytes"),
    "a giant whole number": (f"[train]\nepochs={HUGE}", "is no TOML file: Exceeds the limit"),
    "a large whole number": (f"[train]\nbatch_size={HUGE[:400]}", "train.batch_size: Input should"),
    "a list for a table": ("train=[]", "expected a table [train], got []"),
    "tables for a table": ("[[process]]\nhidden_size=8", "expected a table [process], got [{"),
    "a list for settings": ("[train]\ncontexts=[]", "setting train.contexts: Input should be"),
    "a number with decimals": ("[train]\nepochs=1.5", "setting train.epochs: Input should be"),
    "a preset": ("preset='paper'", "a preset is chosen with --preset"),
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_training_is_not_begun_with_such_a_file_of_settings(runs, tmp_path, capsys, kind):
    text, message = CONFIGS[kind]
    config, out = tmp_path / "settings.toml", tmp_path / "model.lupi"
    config.write_text(text)
    error = fails(["train", runs, *COLUMNS, "--config", config, "--out", out], capsys)
    assert message in error
    assert "settings.toml" in error
    assert not out.exists()


def test_outliers_are_named_before_training(runs, tmp_path, capsys, monkeypatch):
    table = pd.read_csv(runs)
    table.loc[5, "x"] = -9999
    table.to_csv(runs, index=False)
    monkeypatch.setattr("lupi.forecasting.forecaster.learn", stop)
    fails(["train", runs, *COLUMNS, "--out", tmp_path / "model.lupi"], capsys)
    main(["check", str(runs), *COLUMNS])
    assert "'x' is -9999 at the time 1.0 of series 'b'" in capsys.readouterr().out


def stop(*arguments, **options):
    raise UserError("stopped before training.")


def test_values_beyond_arithmetic_are_a_problem_of_the_table(runs, capsys):
    table = pd.read_csv(runs)
    table.assign(x=table["x"] * 1e200).to_csv(runs, index=False)
    with pytest.raises(SystemExit) as stopped:
        main(["check", str(runs), *COLUMNS])
    assert stopped.value.code == 2
    assert (
        "column 'x', series 'a', row 1: expected a number from -1e+100" in capsys.readouterr().err
    )


@pytest.mark.parametrize("seed", [2**63, 2**70, -1, 1.5, HUGE], ids=lambda seed: str(seed)[:20])
def test_nothing_is_simulated_with_such_a_seed(tmp_path, capsys, seed):
    out = tmp_path / "runs.csv"
    error = fails(["simulate", "stiffness", "--seed", seed, "--out", out], capsys)
    assert "whole number" in error
    assert not out.exists()


@pytest.mark.parametrize(
    "options", [["--series", "1e12"], ["--points", 10**12], ["--noise", 1e300]]
)
def test_nothing_is_simulated_with_such_numbers(tmp_path, capsys, options):
    error = fails(["simulate", "stiffness", *options, "--out", tmp_path / "runs.csv"], capsys)
    assert options[0] in error


EVALUATE = {
    "--seed -1": "the seed must be a whole number",
    "--seed 1.5": "--seed: expected a whole number",
    f"--context 1:{2**70}": "two numbers of random observations",
    f"--context 1:{HUGE}": "two numbers of random observations",
}


@pytest.mark.parametrize("options", EVALUATE, ids=lambda options: options[:20])
def test_nothing_is_judged_with_such_options(runs, tmp_path, capsys, options):
    arguments = ["evaluate", OLD, runs, *options.split(), "--out", tmp_path / "judged"]
    assert EVALUATE[options] in fails(arguments, capsys)
    assert not (tmp_path / "judged").exists()


PREDICT = {
    "--samples 1.5": "--samples: expected a whole number, got '1.5'",
    f"--samples {2**70}": "num_samples must be a whole number from 2",
    "--seed 1.5": "--seed: expected a whole number",
    "--times 0:inf:4": "--times must be finite numbers",
    f"--times 0:5:{HUGE}": "the number must be a whole number from 1 to 10000000",
    "--times 1e300": "expected times that are numbers",
    "--privileged.k inf": "series 'a' is given k = inf, expected a finite number",
    "--times 0:318:3": "cannot be forecast: what the model says runs away",
}


@pytest.mark.parametrize("options", PREDICT, ids=lambda options: options[:20])
def test_nothing_is_forecast_with_such_options(tmp_path, capsys, options, monkeypatch):
    if "318" in options:  # nearly 64 spans; this model happens to stay within bounds
        monkeypatch.setattr("lupi.forecasting.answers.RUNAWAY", 0.01)
    new, out = tmp_path / "new.csv", tmp_path / "forecast.csv"
    new.write_text("run,t,x,y\na,0.5,10,20\na,1,10.5,10\na,1.5,11,0\n")
    assert PREDICT[options] in fails(["predict", OLD, new, *options.split(), "--out", out], capsys)
    assert not out.exists()


@pytest.mark.parametrize(("first_far", "far"), [(0, 1e6), (3, 1e30)])
def test_a_run_that_cannot_be_forecast_or_scored_is_in_no_score_and_in_the_exit_code(
    tmp_path, capsys, first_far, far
):
    runs, out = tmp_path / "runs.csv", tmp_path / "judged"
    rows = [
        f"{run},{t},{far if run == 'b' and t >= first_far else 10},20"
        for run in "abc"
        for t in (0, 1, 2, 3)
    ]
    runs.write_text("run,t,x,y\n" + "\n".join(rows) + "\n")
    arguments = ["evaluate", OLD, runs, "--context", "first:0.5", "--out", out]
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    assert ended.value.code == 2
    assert "1 of 3 series are in no score:\n- series 'b'" in capsys.readouterr().out


def test_times_across_a_change_of_the_clock_have_offsets_of_their_own():
    times = read_times("2024-10-27T01:00+02:00:2024-10-27T03:00+01:00:4")
    assert (np.diff(times) == np.timedelta64(1, "h")).all()
    assert read_times("2024-03-31T02:30+01:00,2024-03-31T03:30+02:00") is not None
    with pytest.raises(UserError, match="two dates with an offset from UTC, or two without"):
        read_times("2024-10-27T01:00+02:00:2024-10-27T03:00:4")
