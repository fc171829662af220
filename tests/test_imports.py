"""The import table of the design, held true."""

import ast
from pathlib import Path

import pytest

import lupi

ROOT = Path(lupi.__file__).parent

BASE = {
    "",
    "array_file",
    "compilation",
    "distributions",
    "errors",
    "files",
    "names",
    "small_loops",
}
"""What anyone may import: the version, files, compiling, the error, names."""

ALLOWED = {
    "array_file": set(),
    "compilation": set(),
    "distributions": set(),
    "errors": set(),
    "files": set(),
    "names": set(),
    "small_loops": set(),
    "systems": set(),
    "data": {"systems"},
    "models": {"data"},
    "objectives": {"models", "data"},
    "training": {"objectives", "models", "data"},
    "prediction": {"models", "data"},
    "metrics": set(),
    "forecast": {"data", "prediction"},
    "progress": set(),
    "presets": {"models", "training"},
    "forecaster": {
        "data",
        "forecast",
        "models",
        "prediction",
        "presets",
        "progress",
        "training",
    },
    "judging": {"data", "forecast", "forecaster", "metrics"},
    "experiments": {
        "systems",
        "data",
        "models",
        "objectives",
        "training",
        "prediction",
        "metrics",
    },
    "report": {"experiments.results", "judging", "metrics"},
    "commands": {"data", "experiments", "forecaster", "judging", "presets", "report"},
    "cli": set(),
    "__main__": {"cli"},
    "__init__": {
        "data",
        "distributions",
        "experiments",
        "forecast",
        "forecaster",
        "models",
        "presets",
        "objectives",
        "prediction",
        "systems",
        "training",
    },
}

NARROWER = {("data", "systems"): {"generation"}}
"""Files of a package that alone may use what the package may import."""


def imports_of(path: Path) -> set[str]:
    """The modules of ours that a file imports, without the leading `lupi.`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "lupi":
            names = [f"lupi.{a.name}" if not a.name.startswith("_") else "lupi" for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        else:
            names = []
        found |= {n.removeprefix("lupi").lstrip(".") for n in names if n.split(".")[0] == "lupi"}
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_what_the_design_lets_it(path):
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = ALLOWED[package] | {package} | BASE
    for module in imports_of(path):
        top = module.split(".")[0]
        assert module in allowed or top in allowed, f"{path.name} imports lupi.{module}"
        narrower = NARROWER.get((package, top))
        if narrower is not None:
            assert path.stem in narrower, f"{path.name} imports lupi.{module}"


def test_relative_imports_are_not_used():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def test_every_public_name_can_be_had_from_the_top():
    for name in lupi.__all__:
        assert getattr(lupi, name) is not None
    assert lupi.metrics.crps.__name__ == "crps"
    assert dir(lupi) == sorted(lupi.__all__)
    with pytest.raises(AttributeError, match="no attribute 'prophecy'"):
        lupi.prophecy  # noqa: B018
