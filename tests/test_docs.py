"""What the documentation shows, executed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lupi.cli import main
from lupi.presets import ForecasterSettings, ForecasterTraining

ROOT = Path(__file__).parent.parent


def python_blocks(page: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the table that the docs speak of, and settings that train briefly."""
    monkeypatch.chdir(tmp_path)
    main(["simulate", "stiffness", "--out", "runs.parquet", "--series", "20"])
    Path("new.csv").write_text("t,x1,x2\n0,1,-1\n0.6,0.8,-0.8\n1.1,0.5,-0.5\n")
    brief = ForecasterSettings(train=ForecasterTraining(epochs=2, batch_size=8))
    monkeypatch.setattr(ForecasterSettings, "preset", lambda name: brief)
    return tmp_path


@pytest.mark.parametrize("page", ["README.md", "docs/your-data.md"])
def test_the_commands_from_a_table_to_a_forecast_run(folder, page):
    text = (ROOT / page).read_text().replace("held-out.parquet", "runs.parquet")
    lines = re.findall(r"^lupi (?:check|train|predict|evaluate|show) .*$", text, re.MULTILINE)
    assert len(lines) >= 2
    for line in lines:
        main(shlex.split(line, comments=True)[1:])
    assert len(Path("forecast.csv").read_text().splitlines()) == 101
    assert Path("forecast.png").exists()


def test_the_guide_to_your_own_data_runs(folder):
    names: dict = {}
    exec(compile(python_blocks("docs/your-data.md"), "your-data.md", "exec"), names)
    assert names["forecast"].mean.shape == (3, 2)


def test_the_readmes_examples_run_and_their_model_loads_again(folder):
    names: dict = {}
    exec(compile(python_blocks("README.md"), "README.md", "exec"), names)
    assert names["forecast"].mean.shape == (100, 2)
    assert bool((names["lower"] < names["upper"]).all())
    assert names["lupi"].load_process("springs.safetensors").uses_privileged


def test_the_guide_to_new_systems_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(python_blocks("docs/new-system.md"), "new-system.md", "exec"), names)
    assert any(getattr(value, "decoded_means", None) is not None for value in names.values())


@pytest.mark.parametrize("example", ["stiffness.py", "hare_lynx.py"])
def test_an_example_runs_in_its_small_form(tmp_path, example):
    environment = os.environ | {"LUPI_EXAMPLE_SMALL": "1", "LUPI_EXAMPLE_OUT": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / example)],
        env=environment,
        cwd=tmp_path,
        check=True,
    )
    assert list(tmp_path.rglob("*.png"))


def test_every_file_the_readme_links_to_exists():
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    local = [link for link in links if not link.startswith("http")]
    assert local
    for link in local:
        assert (ROOT / link).exists(), link


def test_ci_calls_the_readmes_test_command_and_nothing_else():
    commands = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert commands[-1] == "make test"
    assert "make test" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("target", ["reproduce", "test"])
def test_the_two_commands_are_targets_of_the_makefile(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_no_placeholder_is_left_in_the_docs():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        words = r"RESULTS_TABLE|CLAIMS_SENTENCE|\bSPEED\b|TODO|LATENCY"
        assert not re.search(words, page.read_text()), page
