"""The import table of the design, held true: by each file, and along chains of imports."""

import ast
import importlib
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import lupi

ROOT = Path(lupi.__file__).parent

BASE = {"", "_machinery", "distributions", "errors"}
"""What every stage may import: the version, machinery, distributions, the error."""

STAGES: dict[str, set[str]] = {
    "systems": set(),
    "data": {"systems"},
    "models": {"data"},
    "objectives": {"models", "data"},
    "inference": {"models", "data"},
    "training": {"objectives", "models", "data"},
    "prediction": {"inference", "models", "data"},
    "ideal": {"systems", "prediction", "models", "data"},
    "metrics": set(),
    "evaluation": {"prediction", "metrics", "models", "data"},
    "preparation": {"prediction", "inference", "models", "data"},
    "plain": {"models", "data"},
    "rivals": {"ideal", "plain", "systems", "models", "data"},
    "blending": {"prediction", "models", "data"},
    "registry": {"models", "objectives", "inference"},
    "presets": {"inference", "objectives", "training", "data"},
    "forecasting": {
        "blending",
        "data",
        "evaluation",
        "inference",
        "metrics",
        "models",
        "objectives",
        "plain",
        "prediction",
        "preparation",
        "presets",
        "registry",
        "systems",
        "training",
    },
    "experiments": {
        "data",
        "evaluation",
        "ideal",
        "inference",
        "metrics",
        "models",
        "objectives",
        "prediction",
        "preparation",
        "presets",
        "registry",
        "rivals",
        "systems",
        "training",
    },
    "report": {
        "evaluation",
        "experiments.claims",
        "experiments.contestants",
        "experiments.experiment",
        "experiments.kept",
        "experiments.modes",
        "experiments.paper",
        "experiments.results",
        "experiments.study",
        "forecasting",
        "metrics",
        "registry",
        "rivals",
    },
    "serving": {
        "data",
        "experiments.experiment",
        "experiments.paper",
        "forecasting",
        "registry",
        "systems",
    },
    "commands": {
        "data",
        "experiments",
        "forecasting",
        "registry",
        "report",
        "serving",
        "training.settings",
    },
    "cli": set(),
}
"""What a file of each stage may import beside the base and its own stage."""

ALLOWED = {
    "errors": set(),
    "_machinery": {"errors"},
    "distributions": {"_machinery", "errors"},
    "__main__": {"cli", "_machinery"},
    "__init__": BASE | set(STAGES) - {"commands", "cli", "report", "serving"},
} | {stage: BASE | allowed for stage, allowed in STAGES.items()}

NARROWER = {("data", "systems"): {"generation"}}
"""Files of a package that alone may use what the package may import."""

MAY_REACH: dict[str, set[str]] = {
    "errors": set(),
    "_machinery": {"errors"},
    "distributions": {"_machinery", "errors"},
    "metrics": BASE,
    "systems": BASE,
    "data": BASE | {"systems"},
    "models": BASE | {"data"},
    "objectives": BASE | {"models", "data"},
    "inference": BASE | {"models", "data"},
    "training": BASE | {"objectives", "models", "data"},
    "prediction": BASE | {"inference", "models", "data"},
    "ideal": BASE | {"systems", "prediction", "inference", "models", "data"},
    "evaluation": BASE | {"prediction", "inference", "metrics", "models", "data"},
    "preparation": BASE | {"prediction", "inference", "models", "data"},
    "registry": BASE | {"models", "objectives", "inference", "data"},
    "presets": BASE | {"inference", "objectives", "training", "models", "data"},
    "forecasting": BASE | STAGES["forecasting"] - {"systems"},
    "experiments": BASE | STAGES["experiments"] | {"plain"},
    "plain": BASE | {"models", "data"},
    "rivals": BASE | {"ideal", "plain", "systems", "prediction", "inference", "models", "data"},
    "blending": BASE | {"prediction", "inference", "models", "data"},
    "report": BASE | STAGES["experiments"] | STAGES["forecasting"] | {"experiments", "forecasting"},
    "serving": BASE
    | STAGES["experiments"]
    | STAGES["forecasting"]
    | {"experiments", "forecasting"},
}
"""What a file of each stage may come to, through whatever it imports and what that imports."""

PARTS = {
    "AttentionAggregator",
    "BayesianAggregator",
    "Concatenation",
    "ControlledReader",
    "CrossAttention",
    "Decoder",
    "Distillation",
    "GlobalLatent",
    "Head",
    "HeteroscedasticDropout",
    "InitialState",
    "LatentODE",
    "Linear",
    "MLP",
    "ObservationEncoder",
    "Pool",
    "PrivilegedEncoder",
    "RandomDropping",
    "RecurrentReader",
    "ResidualCorrection",
    "SecondOrderODE",
    "UncertainLinear",
    "UncertainODE",
    "decoder",
    "global_latent",
    "latent_ode",
    "layers",
    "observation_encoder",
    "privileged_encoder",
}
"""Names of parts and layers, which nothing outside of `models` has any use for."""

FILES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    """The module of a file, such as `lupi.data.split`."""
    parts = ("lupi", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def stage_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


MODULES = {name_of(path): path for path in FILES}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def import_nodes(path: Path, *, types_too: bool) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file, at its top and inside functions; those for types if asked for."""
    found = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        if not types_too and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.orelse:
                visit(child)
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree_of(path))
    return found


def imports_of(path: Path) -> set[str]:
    """The modules of ours that a file imports, without the leading `lupi.`."""
    found = set()
    for node in import_nodes(path, types_too=True):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.module == "lupi":
            names = [
                f"lupi.{a.name}" if not a.name.startswith("__") else "lupi" for a in node.names
            ]
        else:
            names = [node.module or ""]
        found |= {n.removeprefix("lupi").lstrip(".") for n in names if n.split(".")[0] == "lupi"}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_what_the_design_lets_it(path):
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = ALLOWED[package] | {package}
    for module in imports_of(path):
        top = module.split(".")[0]
        assert module in allowed or top in allowed, f"{path.name} imports lupi.{module}"
        narrower = NARROWER.get((package, top))
        if narrower is not None:
            assert path.stem in narrower, f"{path.name} imports lupi.{module}"


def test_every_module_has_its_line_in_the_table():
    tops = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    assert tops == set(ALLOWED)


@cache
def lazy_homes(package: str) -> dict[str, str]:
    """Where the names of a package live that it imports when they are used."""
    path = MODULES[package]
    eager = import_nodes(path, types_too=False)
    return {
        alias.name: node.module
        for node in import_nodes(path, types_too=True)
        if isinstance(node, ast.ImportFrom)
        and node.module
        and ast.dump(node) not in {ast.dump(other) for other in eager}
        for alias in node.names
    }


@cache
def steps_from(module: str) -> set[str]:
    """The modules of ours that are imported once all of a module's functions have run."""
    found = set()

    def add(name: str) -> None:
        while "." in name:  # with a module its packages are imported
            if name in MODULES:
                found.add(name)
            name = name.rpartition(".")[0]

    for node in import_nodes(MODULES[module], types_too=False):
        if isinstance(node, ast.Import):
            for alias in node.names:
                add(alias.name)
        elif node.module and node.module.split(".")[0] == "lupi":
            add(node.module)
            for alias in node.names:
                add(f"{node.module}.{alias.name}")
                if node.module in MODULES and alias.name in lazy_homes(node.module):
                    home = lazy_homes(node.module)[alias.name]
                    add(home)
                    add(f"{home}.{alias.name}")
    return found - {module}


@cache
def reached_from(module: str) -> frozenset[str]:
    """All modules of ours at the end of some chain of imports."""
    found, pending = set(), [module]
    while pending:
        for name in steps_from(pending.pop()) - found:
            found.add(name)
            pending.append(name)
    return frozenset(found)


def test_chains_are_followed_through_packages_functions_and_lazy_names():
    assert "lupi.models.parts.latent_ode" in reached_from("lupi.prediction")
    assert "lupi.training.loop" in reached_from("lupi.commands.train")
    assert "lupi.data.split" in reached_from("lupi.objectives.elbo")
    assert "lupi.systems.simulation" in reached_from("lupi.experiments.systems")
    assert "lupi.metrics.scores" in reached_from("lupi.evaluation.scoring")


@pytest.mark.parametrize("stage", MAY_REACH)
def test_no_chain_of_imports_leads_where_a_stage_must_not_come(stage):
    own = [name for name in MODULES if stage_of(name) == stage]
    assert own
    for module in own:
        for reached in reached_from(module):
            assert stage_of(reached) in MAY_REACH[stage] | {stage}, f"{module} reaches {reached}"


def test_a_prediction_never_comes_to_training():
    for start in ("lupi.prediction", "lupi.models", "lupi.inference", "lupi.evaluation"):
        stages = {stage_of(module) for module in reached_from(start)}
        assert not stages & {"training", "objectives", "forecasting", "experiments", "commands"}


def test_reading_tables_never_comes_to_models():
    stages = {stage_of(module) for module in reached_from("lupi.data.reading")}
    assert stages <= {"data", *BASE}


def test_nothing_comes_to_the_commands_or_the_command_line():
    for module in MODULES:
        if stage_of(module) not in ("commands", "cli", "__main__"):
            stages = {stage_of(reached) for reached in reached_from(module)}
            assert not stages & {"commands", "cli", "__main__"}, module


def test_nothing_but_the_commands_comes_to_the_report():
    for module in MODULES:
        if stage_of(module) not in ("commands", "report"):
            assert "report" not in {stage_of(reached) for reached in reached_from(module)}, module


def names_in(path: Path) -> set[str]:
    """Every name that the code of a file speaks of; comments and texts are left out."""
    found = set()
    for node in ast.walk(tree_of(path)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.keyword(arg=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found |= {*name.split("."), other or ""}
            case ast.ImportFrom(module=str(name)):
                found |= set(name.split("."))
    return found


def test_the_names_of_parts_are_found_where_they_are():
    assert {"latent_ode", "decoder", "Decoder"} <= names_in(ROOT / "models/neural_ode_process.py")
    assert "layers" in names_in(ROOT / "models/initialisation.py")


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if stage_of(name_of(path)) != "models"],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_nothing_outside_of_models_speaks_of_parts_or_layers(path):
    assert not names_in(path) & PARTS
    assert not any(module.startswith("models.parts") for module in imports_of(path))


def test_no_function_has_the_name_of_a_module_beside_it():
    """Else `lupi.training.fit` would be now the one, now the other."""
    for package in (name for name, path in MODULES.items() if path.name == "__init__.py"):
        found = importlib.import_module(package)
        modules = [info.name for info in pkgutil.iter_modules(found.__path__)]
        for name in set(modules) - {"__main__"}:
            importlib.import_module(f"{package}.{name}")
        for name in set(modules) - {"__main__"}:
            for value in (vars(found)[name], getattr(found, name)):
                assert isinstance(value, ModuleType), f"{package}.{name} is not the module"


def test_relative_imports_are_not_used():
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def test_every_public_name_can_be_had_from_the_top():
    for name in lupi.__all__:
        assert getattr(lupi, name) is not None
    assert lupi.metrics.crps.__name__ == "crps"
    assert dir(lupi) == sorted(lupi.__all__)
    with pytest.raises(AttributeError, match="no attribute 'prophecy'"):
        lupi.prophecy  # noqa: B018
