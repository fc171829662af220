"""Command lines and settings with anything in them: run, or refused with a message."""

import shlex
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lupi
from fuzz.attack import CELLS, CORPUS, NUMBERS, TINY, examples, model, model_file, runs
from fuzz.law import Ended, folder, is_over, run

TABLE = ["runs.csv", "--series", "run", "--time", "t", "--observed", "x,y", "--privileged", "k"]
LINES = [
    ["check", *TABLE],
    ["check", *TABLE, "--json", "--positive", "x", "--limits.y", "-200:200", "--window", "2"],
    ["train", *TABLE, *TINY, "--out", "n.lupi", "--seed", "1", "--config", "settings.toml"],
    ["train", *TABLE, "--train.context-sizes", "1", "3", "--members", "2", "--out", "n.lupi"],
    ["predict", "model.lupi", "new.csv", "--times", "0:4:5", "--out", "f.csv", "--samples", "8"],
    ["predict", "model.lupi", "--out", "f.parquet", "--coverage", "0.5", "--seed", "3"],
    ["predict", "model.lupi", "new.csv", "--out", "f.nc", "--quantiles", "0.1,0.9"],
    ["predict", "model.lupi", "new.csv", "--out", "f.csv", "--privileged.k", "2", "--json"],
    ["show", "model.lupi", "--json"],
    ["models", "lupi", "--json"],
    ["simulate", "damping", "--out", "s.csv", "--series", "2", "--points", "3", "--seed", "1"],
    ["evaluate", "model.lupi", "runs.csv", "--out", "e", "--context", "9:5", "--seed", "1"],
    ["reproduce", "--seeds", "0", "--out", "r", "--epochs", "1", "--noise", "0.1"],
    ["compare", *TABLE, "--seeds", "0", "--out", "c", "--models", "lupi:noise=0.5,mean"],
    ["compare", "--experiments", "damping", "--seeds", "0", "--noise", "0.1", "--steps", "1"],
    ["study", "--parts", "width,longer", "--seeds", "0", "--out", "u"],
]
WORDS = st.one_of(
    NUMBERS,
    CELLS,
    st.sampled_from(
        [
            *("runs.csv", "new.csv", "model.lupi", "settings.toml", "none.csv", "folder", "n.lupi"),
            *(".", "..", "/", "./runs.csv", "folder/../runs.csv", "x", "x,y", "x,x", ",", "0:1"),
            *("--json", "--help", "--", "-h", "--out", "--seed", "--colour", "1:2:3", "a:b:c"),
            *("first:0.5", "gap:2", "5:9", "2020-01-01:2021-01-01:3", "best", "paper", "cnp"),
        ]
    ),
)
SETTINGS = "[train]\nepochs = 1\n"


@st.composite
def lines(draw) -> list[str]:
    """A command line that would run, with words taken out, put in, doubled or changed."""
    line = [*draw(st.sampled_from(LINES))]
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(1, len(line) - 1)) if len(line) > 1 else 0
        match draw(st.sampled_from(["drop", "put", "change", "change", "double"])):
            case "drop" if place:
                del line[place]
            case "put":
                line.insert(place + 1, draw(WORDS))
            case "change":
                line[place] = draw(WORDS)
            case "double":
                line.insert(place, line[place])
    # The paper takes minutes, and this is about its door.
    return [*line, "--seeds", "0"] if line[0] in ("reproduce", "compare", "study") else line


def fitted(self, series, **_) -> lupi.Forecaster:
    """In the place of training, which is not what is attacked here."""
    self.settings, self._fitted = model().settings, model()._get()
    return self


def run_here(line: list[str], settings: str = SETTINGS) -> Ended:
    """A command line in a folder with what it may speak of."""
    files = {"runs.csv": runs().to_csv(index=False), "settings.toml": settings}
    new = runs().groupby("run").head(3).drop(columns="k").iloc[:6].to_csv(index=False)
    files |= {"new.csv": new, "model.lupi": model_file(), "folder/notes.txt": "years of work"}
    told = [word for flag, word in pairwise(line) if flag == "--out"]
    told += [word.removeprefix("--out=") for word in line if word.startswith("--out=")]
    mine = [f"{name}/" for name in files] + [*files, ".", "..", "/", "", "./runs.csv", "folder"]
    writes = [word for word in told if word not in mine and "runs.csv" not in word]
    # Without --out, reports have names of their own.
    writes += ["evaluation"] if line[0] == "evaluate" else []
    with folder(files), mock.patch.object(lupi.Forecaster, "fit", fitted):
        return run(*line, writes=writes)


@examples(20)
@given(lines())
def test_any_command_line_runs_or_is_refused(line):
    if not is_over():
        run_here(line)


TOML = st.recursive(
    NUMBERS | st.sampled_from(["true", "[]", "[1, 2]", '"refined"', '""', "[[1]]", "1979-05-27"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda some: f"[{', '.join(some)}]")
        | inner.map(lambda one: f"{{a = {one}}}")
    ),
    max_leaves=4,
)
NAMES = st.sampled_from(
    [
        *("model", "process", "train", "members", "blend", "inference", "objective", "process.a"),
        *("process.hidden_size", "process.representation_size", "process.kind", "train.epochs"),
        *("train.learning_rate", "train.batch_size", "train.context_sizes", "train.decay"),
        *("train.target_sizes", "train.max_gradient", "train.keep_best", "train.contexts"),
        *("train.validations", "train.optimiser", "validation_share", "uses_privileged", "é"),
    ]
)


@examples(20)
@given(st.dictionaries(NAMES, TOML, max_size=3), st.sampled_from(["default", "paper"]))
def test_any_settings_are_taken_or_refused(settings, preset):
    if is_over():
        return
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    line = ["train", *TABLE, "--preset", preset, "--config", "settings.toml", "--out", "n.lupi"]
    run_here(line, text)


LONG_AGO = (CORPUS / "lines.txt").read_text().splitlines()


@pytest.mark.parametrize("line", [line for line in LONG_AGO if line and line[0] != "#"])
def test_a_command_line_that_broke_something_once_is_refused(line):
    assert run_here(shlex.split(line)).code == 2
