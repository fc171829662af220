"""What the documentation shows, executed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def python_blocks(page: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))


def test_the_readmes_example_runs_and_its_model_loads_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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


def test_the_stiffness_example_runs_in_its_small_form(tmp_path):
    environment = os.environ | {"LUPI_EXAMPLE_SMALL": "1", "LUPI_EXAMPLE_OUT": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "stiffness.py")],
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
    for page in ("README.md", "docs/design.md", "docs/notation.md", "docs/new-system.md"):
        text = (ROOT / page).read_text()
        assert not re.search(r"RESULTS_TABLE|CLAIMS_SENTENCE|\bSPEED\b|TODO", text), page
