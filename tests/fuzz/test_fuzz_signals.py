"""Signals at random moments of a training: nothing is lost, and the same command goes on."""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lupi
from fuzz.attack import IS_LONG, TINY, examples, runs
from fuzz.law import is_over

pytestmark = pytest.mark.skipif(not IS_LONG, reason="takes minutes: `make fuzz`")

TRAIN = ["train", "runs.csv", "--series", "run", "--time", "t", "--observed", "x,y"]
TRAIN += [*TINY, "--train.epochs", "100", "--out", "n.lupi"]
LONGEST = 60
"""Seconds that a command may take after a signal."""


@pytest.fixture(autouse=True, scope="module")
def hears_interrupts():
    """A program that a script runs in its background does not, nor do those that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(folder: Path) -> subprocess.Popen:
    """The training, in a folder of its own, with what others have compiled."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(Path(tempfile.gettempdir()) / "lupi-fuzz-compiled")}
    cache["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    return subprocess.Popen(
        [sys.executable, "-m", "lupi", *TRAIN],
        cwd=folder,
        env=os.environ | cache,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def finish(folder: Path) -> None:
    """Train to the end."""
    command = start(folder)
    _, said = command.communicate(timeout=300)
    assert command.returncode == 0, said


def forecast_of(folder: Path):
    return lupi.load(folder / "n.lupi").predict(None, [1.0, 2.0]).samples.tolist()


@functools.cache
def undisturbed() -> tuple[list, float]:
    """What the training comes to, and how long it takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs().to_csv(folder / "runs.csv", index=False)
        finish(folder)  # compiles
        (folder / "n.lupi").unlink()
        started = time.monotonic()
        finish(folder)
        return forecast_of(folder), time.monotonic() - started


@examples(1)
@given(
    st.floats(0, 1.1),
    st.sampled_from([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]),
    st.booleans(),
)
def test_a_training_that_is_stopped_goes_on_to_the_same_result(moment, number, twice):
    if is_over():
        return
    expected, seconds = undisturbed()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = runs().to_csv(index=False)
        (folder / "runs.csv").write_text(table)
        command = start(folder)
        time.sleep(moment * seconds)
        for _ in range(2 if twice else 1):
            command.send_signal(number)
        _, said = command.communicate(timeout=LONGEST)
        # Before Python has begun it ends as any program does.
        begun = moment * seconds > 1.0
        assert command.returncode in ((0, 130) if begun else (0, 130, -number)) + (-signal.SIGKILL,)
        if begun:
            assert "Traceback" not in said, said
        assert (folder / "runs.csv").read_text() == table
        finish(folder)
        assert forecast_of(folder) == expected
        left = {path.name for path in folder.iterdir()} - {"runs.csv", "n.lupi"}
        assert not {path for path in left if not path.endswith(".lock")}, left
