import errno
import json
import re
import subprocess
import sys

import pytest

from lupi import experiments
from lupi.cli import COMMANDS, main
from lupi.registry import MODELS, OBJECTIVES


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "lupi", *arguments], capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["reproduce", "--experiments", "stifness"],
            "unknown experiment 'stifness'.*Did you mean 'stiffness'",
        ),
        (["reproduce", "--models", "gp"], "unknown model 'gp': expected one of nopi, lupi"),
        (["models", "lupy"], "unknown model 'lupy'.*Did you mean 'lupi'"),
        (["reproduce", "--seeds", "0"], "--seeds must be a whole number from 1 .*, got 0"),
        (["reproduce", "--epochs", "-3"], "--epochs must be a whole number from 1 .*, got -3"),
        (["reproduce", "--seeds", "many"], "--seeds: expected a whole number, got 'many'"),
        (["reproduce", "--colour", "red"], "Unknown option: --colour"),
        (
            ["reproduce", "--experiments"],
            "expected at least one experiment, got none|requires an argument",
        ),
        (["reprodcue"], 'Unknown command "reprodcue". Did you mean "reproduce"'),
    ],
)
def test_a_users_mistake_is_one_message_and_exit_code_2(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert error.startswith("lupi: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def imported_by(script: str) -> tuple[set[str], str]:
    """The modules that a script loads in a process of its own, and what it prints before."""
    script += "; import sys; print(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *printed, modules = done.stdout.splitlines()
    return set(modules.split()), "\n".join(printed)


def test_help_and_version_import_nothing_heavy():
    help_script = "from lupi.cli import app; app(['--help'], result_action='return_value')"
    modules, printed = imported_by(help_script)
    assert not {"jax", "numpy", "matplotlib", "numpyro", "diffrax"} & modules
    assert "reproduce" in printed
    assert run("--version").stdout.strip() == "lupi 0.1.0"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_imports_no_jax(command):
    arguments = [command, "--help"]
    modules, printed = imported_by(
        f"from lupi.cli import app; app({arguments}, result_action='return_value')"
    )
    assert f"lupi {command}" in printed
    assert not {"jax", "matplotlib", "pandas"} & modules


def test_training_and_forecasting_import_nothing_that_only_others_need():
    modules, _ = imported_by("import lupi.forecasting, lupi.experiments")
    assert "jax" in modules
    assert not {"diffrax", "numpyro", "scoringrules", "scipy", "matplotlib"} & modules


def test_a_quick_run_prints_the_table_and_the_claims_and_a_second_one_goes_on(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    chosen = ["--experiments", "damping", "--models", "nopi,lupi", "--seeds", "1"]
    arguments = ["reproduce", "--quick", *chosen, "--workers", "1"]
    main(arguments)
    first = capsys.readouterr().out
    assert "0 of 2 runs done" in first
    assert "Varying damping" in first
    assert "LUPI is less sharp in most cases" in first
    assert (tmp_path / "reproduction-quick" / "report.html").exists()
    main(arguments)
    assert "2 of 2 runs done" in capsys.readouterr().out


def test_models_lists_all_models(capsys):
    main(["models"])
    printed = capsys.readouterr().out
    for name, model in MODELS.items():
        assert f"{name}: {model.summary}" in " ".join(printed.split())
    main(["models", "--json"])
    listed = json.loads(capsys.readouterr().out)
    assert listed == {name: model.summary for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_models_lists_the_settings_of_one(name, capsys):
    process = MODELS[name].process
    main(["models", name, "--json"])
    described = json.loads(capsys.readouterr().out)
    assert described["summary"] == MODELS[name].summary
    assert described["kind"] == process.kind
    assert OBJECTIVES[described["objective"]["kind"]] is type(MODELS[name].objective)
    assert set(described["process"]) == set(type(process).model_fields) - {"kind"}
    for field, setting in described["process"].items():
        assert setting["default"] == getattr(process, field)
        assert setting["meaning"], field
    main(["models", name])
    printed = capsys.readouterr().out
    assert "--process.hidden-size: 16 Width of every hidden layer." in " ".join(printed.split())


def test_a_full_disk_is_one_message(tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "results.json")

    monkeypatch.setattr(experiments, "reproduce", full)
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "No space left on device (results.json)" in error
    assert "What was finished before is kept: free some space" in error


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "reproduce", interrupted)
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "--out", str(tmp_path / "out")])
    assert stop.value.code == 130
    assert "The same command goes on from here" in capsys.readouterr().err


def test_a_fault_of_ours_keeps_its_traceback(tmp_path, monkeypatch):
    def fault(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(experiments, "reproduce", fault)
    with pytest.raises(ZeroDivisionError):
        main(["reproduce", "--out", str(tmp_path / "out")])


def test_the_shell_completes_commands_and_options(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    assert run("--install-completion").returncode == 0

    def complete(*words: str) -> str:
        line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _lupi"
        command = f'. "$HOME/.bashrc"; {line}; echo "${{COMPREPLY[@]}}"'
        return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout

    assert complete("lupi", "rep").split() == ["reproduce"]
    assert complete("lupi", "reproduce", "--qu").split() == ["--quick"]
