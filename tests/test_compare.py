"""`lupi compare`, from the command to the report; without the search, which is long to compile."""

import json
from pathlib import Path

import pytest

from lupi.cli import main
from lupi.experiments import read_results, reproduction
from lupi.rivals import RIVALS
from test_command_mistakes import fails

COLUMNS = ["--series", "series", "--time", "t", "--observed", "x1,x2"]


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """Runs are done in this process, where tests can make them fail."""
    monkeypatch.setattr(reproduction, "_is_known_to_workers", lambda call: False)
    monkeypatch.chdir(tmp_path)


def compare(*arguments: str) -> None:
    main(["compare", "--quick", "--seeds", "2", "--workers", "1", *arguments])


def broken(training, ideal, key):
    raise FloatingPointError("it broke in the middle")


def test_a_model_that_fails_is_reported_and_the_others_go_on_and_the_same_command_mends_it(
    capsys, monkeypatch, tmp_path
):
    arguments = ["--models", "cnp,mean,nearest", "--experiments", "stiffness", "--out", "out"]
    with monkeypatch.context() as patch:
        patch.setitem(RIVALS, "nearest", RIVALS["nearest"]._replace(learn=broken))
        compare(*arguments)
    printed = capsys.readouterr().out
    assert "about" in printed.splitlines()[0]
    assert "failed: nearest on stiffness, seed 0: FloatingPointError" in printed
    failed = read_results(tmp_path / "out").failures
    assert [(one.model, one.seed) for one in failed] == [("nearest", 0), ("nearest", 1)]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "it broke in the middle" in page
    assert "by the number of points seen" in page
    assert "CNP" in page
    before = (tmp_path / "out/runs/stiffness/cnp/seed-0/run.json").stat().st_mtime_ns

    compare(*arguments)
    assert "failed" not in capsys.readouterr().out
    results = read_results(tmp_path / "out")
    assert results.failures == []
    assert (tmp_path / "out/runs/stiffness/cnp/seed-0/run.json").stat().st_mtime_ns == before
    modes = {record.mode for record in results.records if record.model == "nearest"}
    assert {"test", "points 0", "points 3", "beyond 0 0.3"} <= modes
    assert not (tmp_path / "out/runs/stiffness/nearest/seed-0/model.safetensors").exists()
    names = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert names == {"stiffness-ranking.png", "stiffness-curves.png"}
    assert "| mean trajectory |" in (tmp_path / "out" / "comparison.md").read_text()


def test_other_rivals_and_another_experiment_are_added_to_what_a_folder_has(capsys, tmp_path):
    compare("--models", "mean,last-value", "--experiments", "drug", "--out", "out")
    compare("--models", "nearest", "--experiments", "stiffness", "--out", "out")
    results = read_results(tmp_path / "out")
    found = {(record.experiment, record.model) for record in results.records}
    assert found == {("drug", "mean"), ("drug", "last-value"), ("stiffness", "nearest")}
    report = (tmp_path / "out" / "comparison.md").read_text()
    assert "last value" in report
    assert "nearest series" in report


def test_on_a_table_the_answer_says_which_model_to_use(capsys):
    main(["simulate", "stiffness", "--out", "runs.csv", "--series", "24", "--points", "12"])
    compare("runs.csv", *COLUMNS, "--models", "cnp,mean,last-value")
    printed = " ".join(capsys.readouterr().out.split())
    assert "3 models on runs, 2 seeds" in printed
    assert "Use " in printed
    assert "2 seeds are few" in printed
    content = json.loads(Path("comparison-quick/results.json").read_text())
    assert {record["experiment"] for record in content["records"]} == {"runs"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--models lupo", "unknown model 'lupo'"),
        ("--models nopi:shuffled", "nopi learns from no privileged values"),
        ("--experiments stifness", "unknown experiment 'stifness'"),
        ("--preset worst", "unknown preset 'worst'"),
        ("--noise -1", "--noise must be 0 or more"),
        ("--seeds 0", "--seeds must be a whole number from 1"),
        ("runs.csv", "a table needs --time and --observed"),
        ("runs.csv --experiments stiffness", "a table was given"),
    ],
)
def test_a_mistake_gets_one_message_before_anything_is_trained(
    capsys, tmp_path, arguments, message
):
    error = fails(["compare", "--out", "out", *arguments.split()], capsys)
    assert message in error
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_too_small_or_has_no_privileged_columns_is_refused(capsys, tmp_path):
    main(["simulate", "stiffness", "--out", "few.csv", "--series", "3", "--points", "6"])
    asked = ["compare", "few.csv", *COLUMNS, "--out", "out"]
    assert "to train on, expected at least 2" in fails([*asked, "--models", "nopi"], capsys)
    assert "lupi learns from privileged values" in fails([*asked, "--models", "lupi"], capsys)
    assert not (tmp_path / "out").exists()
