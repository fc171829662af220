"""What the documentation shows, executed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from lupi import registry
from lupi.cli import main
from lupi.experiments import MORE_EXPERIMENTS, reproduction
from lupi.forecasting import PRESETS
from lupi.inference import Amortised, Refined
from lupi.models import KINDS, NeuralODEProcessSettings

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))


def python_blocks(page: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the table that the docs speak of, and settings that train briefly."""
    monkeypatch.chdir(tmp_path)
    main(["simulate", "stiffness", "--out", "runs.parquet", "--series", "20"])
    Path("new.csv").write_text("t,x1,x2\n0,1,-1\n0.6,0.8,-0.8\n1.1,0.5,-0.5\n")
    _train_briefly(monkeypatch, Amortised())
    return tmp_path


def _train_briefly(monkeypatch, inference):
    preset = PRESETS["default"]
    brief = preset._replace(
        process=preset.process | {"hidden_size": 8, "representation_size": 8},
        train=preset.train.model_copy(update={"epochs": 2}),
        inference=inference,
        members=1,
        blend=False,
    )
    monkeypatch.setitem(PRESETS, "default", brief)


@pytest.mark.parametrize(
    "page", [pytest.param("README.md", marks=pytest.mark.slow), "docs/your-data.md"]
)
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


def test_the_page_on_rivals_runs_and_names_all_of_them():
    names: dict = {}
    exec(compile(python_blocks("docs/rivals.md"), "rivals.md", "exec"), names)
    assert names["prediction"].mean.shape == (51, 2)
    text = (ROOT / "docs/rivals.md").read_text()
    for name in (*names["RIVALS"], *MORE_EXPERIMENTS):
        assert f"| `{name}` |" in text


@pytest.mark.slow
def test_the_guide_to_inference_runs(folder, monkeypatch):
    _train_briefly(monkeypatch, Refined())
    names: dict = {}
    exec(compile(python_blocks("docs/inference.md"), "inference.md", "exec"), names)
    assert names["knowing"].privileged.mean.shape == (1, 1)
    assert {"k", "surprise"} < set(names["forecast"].systems().columns)


def test_the_readmes_examples_run_and_their_model_loads_again(folder):
    names: dict = {}
    exec(compile(python_blocks("README.md"), "README.md", "exec"), names)
    assert names["forecast"].mean.shape == (3, 2)
    assert names["prediction"].mean.shape == (100, 2)
    assert bool((names["lower"] < names["upper"]).all())
    assert names["lupi"].load_process("springs.safetensors").uses_privileged


def test_the_guide_to_new_systems_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(python_blocks("docs/new-system.md"), "new-system.md", "exec"), names)
    assert names["prediction"].mean.shape == (41, 1)


def test_the_guide_to_comparing_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduction, "_is_known_to_workers", lambda call: False)
    names: dict = {}
    exec(compile(python_blocks("docs/compare.md"), "compare.md", "exec"), names)
    assert {one.who.name for one in names["drug"].order} == {"mean", "nearest"}
    assert "Use nearest series" in capsys.readouterr().out


@pytest.mark.slow
def test_the_page_of_results_finds_what_a_forecast_loses_against_the_ideal_one():
    names: dict = {}
    code = python_blocks("docs/results.md").replace("family, times, 100,", "family, times, 20,")
    exec(compile(code, "results.md", "exec"), names)
    assert names["lost"].log_likelihood.mean > 0.3
    assert names["lost"].crps_ratio.mean > 1.5


def test_the_guide_to_new_models_runs_in_at_most_60_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _train_briefly(monkeypatch, Amortised())
    code, names = python_blocks("docs/new-model.md"), {}
    assert len([line for line in code.splitlines() if line.strip()]) <= 60
    try:
        exec(compile(code, "new-model.md", "exec"), names)
    finally:
        KINDS.pop("my-conditional-process", None)
        registry.MODELS.pop("my-cnp", None)
    assert names["forecast"].mean.shape == (2, 2)
    assert "my CNP*" in capsys.readouterr().out
    assert (tmp_path / "evaluation" / "report.html").exists()


@pytest.mark.slow
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


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_every_file_a_page_links_to_exists(page):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    local = [link for link in links if not link.startswith("http")]
    for link in local:
        assert ((ROOT / page).parent / link).exists(), link
    assert local or page in PAGES


def test_every_page_of_the_docs_is_reached_from_the_readme():
    pages = {"README.md"}
    for _ in PAGES:
        for page in list(pages):
            links = re.findall(r"\]\(([^)#]+\.md)\)", (ROOT / page).read_text())
            found = [((ROOT / page).parent / link).resolve() for link in links]
            pages |= {str(path.relative_to(ROOT)) for path in found}
    assert set(PAGES) <= pages


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
        words = r"[A-Z]_(TABLE|PRINTED|ROWS|TIME|PARAGRAPH|LOOPS)\b|\bSPEED\b|TODO|LATENCY"
        assert not re.search(words, page.read_text()), page


def test_the_page_of_models_names_all_there_is_and_its_example_runs():
    page = (ROOT / "docs" / "models.md").read_text()
    ways, aggregators = (
        get_args(NeuralODEProcessSettings.model_fields[name].annotation)
        for name in ("privileged_way", "aggregator")
    )
    for name in (*registry.MODELS, *KINDS, *registry.OBJECTIVES, *ways, *aggregators):
        assert f"`{name}`" in page, name
    exec(compile(python_blocks("docs/models.md"), "models.md", "exec"), {})
