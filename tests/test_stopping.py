"""Ctrl-C and SIGTERM: one ends a command soon, with its state saved; a second one at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lupi
from lupi._machinery.array_files import read_arrays
from lupi.cli import main

SOON = 2.0
"""Seconds, as promised."""

SMALL = ["--members", "1", "--no-blend", "--inference", "amortised", "--process.hidden-size", "8"]
TRAIN = ["train", "runs.csv", "--series", "run", "--time", "t", "--observed", "x", *SMALL]
TRAIN += ["--train.batch-size", "4", "--out", "model.lupi"]


@pytest.fixture
def start(folder):
    """A function that starts a process in the folder; none outlives the test."""
    started = []
    # What is ignored here, as in the background of a script, would be ignored there.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def start(*arguments: str, where: Path = folder, **more: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=where,
            env=os.environ | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    signal.signal(signal.SIGINT, before)
    for process in started:
        process.kill()
        process.communicate()


def stop(process: subprocess.Popen, number: int) -> tuple[str, float]:
    """What a process says last, and how long it takes to end once it is asked to."""
    started = time.monotonic()
    process.send_signal(number)
    process.wait(timeout=60)
    seconds = time.monotonic() - started
    _, error = process.communicate()
    return error, seconds


def wait_for(stream, text: str) -> None:
    for line in stream:
        if text in line:
            return
    raise AssertionError(f"{text!r} was never said")


@pytest.fixture
def folder(tmp_path) -> Path:
    k, t = np.repeat(np.linspace(1, 3, 12), 8), np.tile(np.linspace(0, 5, 8), 12)
    runs = {"run": np.repeat(np.arange(12), 8), "t": t, "x": np.sin(k * t)}
    pd.DataFrame(runs).to_csv(tmp_path / "runs.csv", index=False)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_ctrl_c_while_compiling_ends_at_once_and_leaves_nothing(folder, start):
    training = start("-m", "lupi", *TRAIN, "--train.epochs", "2")
    wait_for(training.stderr, "Compiling the first step")
    time.sleep(0.5)
    error, seconds = stop(training, signal.SIGINT)
    assert training.returncode == 130
    assert seconds < SOON
    assert error == "\nlupi: stopped. Nothing was saved yet.\n"
    assert names(folder) == {"runs.csv"}


def test_sigterm_in_training_saves_its_last_epoch(folder, start, capsys, monkeypatch):
    arguments = [*TRAIN, "--model", "cnp"]  # which is compiled soon
    training = start("-m", "lupi", *arguments, "--train.epochs", "1200")
    wait_for(training.stderr, "Training: epoch 1 of")
    time.sleep(0.5)
    error, seconds = stop(training, signal.SIGTERM)
    assert training.returncode == 130
    assert seconds < SOON
    assert error == "\nlupi: stopped. The same command goes on from here.\n"
    assert names(folder) == {"runs.csv", "model.lupi.checkpoint"}
    saved = read_arrays(folder / "model.lupi.checkpoint", kind="checkpoint")
    assert saved.arrays["history.epoch"].shape[1] > 1
    monkeypatch.chdir(folder)  # other settings do not go on from it
    with pytest.raises(SystemExit) as refused:
        main([*arguments, "--train.epochs", "3"])
    assert refused.value.code == 2
    assert "is of another training" in capsys.readouterr().err


@pytest.mark.slow
def test_training_that_is_stopped_at_any_moment_ends_where_it_would_have(folder, start):
    cache = {"JAX_COMPILATION_CACHE_DIR": str(folder / "cache")}
    cache["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    whole = folder / "whole"
    whole.mkdir()
    (whole / "runs.csv").write_bytes((folder / "runs.csv").read_bytes())
    arguments = ["-m", "lupi", *TRAIN, "--model", "cnp", "--train.epochs", "3000"]
    first = start(*arguments, where=whole, **cache)
    started = time.monotonic()
    assert first.wait(timeout=600) == 0
    long = time.monotonic() - started
    rng = np.random.default_rng(0)
    allowed = {"runs.csv", "cache", "whole", "model.lupi", "model.lupi.checkpoint"}
    for i in range(25):
        training = start(*arguments, **(cache if i % 2 else {}))
        time.sleep(rng.uniform(0.2, 0.8 * long))
        if training.poll() is None:
            error, seconds = stop(training, (signal.SIGINT, signal.SIGTERM)[i % 2])
            assert training.returncode in (130, 0), error
            assert "Traceback" not in error
            assert seconds < SOON
        assert names(folder) <= allowed
    last = start(*arguments, **cache)
    assert last.wait(timeout=600) == 0
    new = {"t": [0.0, 1.0], "x": [0.0, 0.9]}
    np.testing.assert_array_equal(
        lupi.load(folder / "model.lupi").predict(new, [2.0]).samples,
        lupi.load(whole / "model.lupi").predict(new, [2.0]).samples,
    )


@pytest.mark.slow
def test_a_reproduction_that_is_stopped_ends_its_workers(start):
    running = start("-m", "lupi", "reproduce", "--quick", "--workers", "2", "--seeds", "2")
    time.sleep(8)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    error, seconds = stop(running, signal.SIGINT)
    assert running.returncode == 130
    assert seconds < SOON
    assert error == "\nlupi: stopped. The same command goes on from here.\n"
    assert children
    until = time.monotonic() + 30
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.1)


# The mechanism, without all that takes time

BEGIN = """
import os, time
from pathlib import Path
from lupi._machinery.files import locked, write_atomically
from lupi._machinery.stopping import *

def ready():
    print("ready", flush=True)

stop_on_signals()
"""


@pytest.fixture
def run(start, folder):
    """A function that runs a script up to where it says that it is ready."""
    (folder / "runs.csv").unlink()

    def run(text: str) -> subprocess.Popen:
        process = start("-c", BEGIN + text)
        wait_for(process.stdout, "ready")
        return process

    return run


def test_a_second_signal_ends_even_what_is_saved_at_length(run):
    process = run("with saved_if_stopped(lambda: time.sleep(60)): ready(); time.sleep(60)")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    _, seconds = stop(process, signal.SIGINT)
    assert process.returncode == 130
    assert seconds < 0.5


def test_what_is_to_be_saved_is_saved_while_the_main_thread_is_busy(run, folder):
    process = run("""
def save():
    Path("saved").write_text("all of it")
with saved_if_stopped(save), told_if_stopped(lambda: "Kept."):
    ready()
    time.sleep(60)
""")
    error, seconds = stop(process, signal.SIGTERM)
    assert (process.returncode, error) == (130, "\nlupi: stopped. Kept.\n")
    assert seconds < 0.5
    assert (folder / "saved").read_text() == "all of it"


def test_half_a_file_and_a_lock_do_not_stay(run, folder):
    process = run("""
os.fsync = lambda _: (ready(), time.sleep(60))
with locked(Path(".lock"), ""):
    write_atomically("forecast.csv", "x")
""")
    assert len(names(folder)) == 2
    stop(process, signal.SIGINT)
    assert process.returncode == 130
    assert names(folder) == set()


def test_what_stops_by_itself_has_a_moment_to_do_so(run):
    process = run("""
with stops_itself():
    ready()
    while not is_stopping():
        time.sleep(0.1)
    raise SystemExit(7)
""")
    stop(process, signal.SIGINT)
    assert process.returncode == 7


def test_what_should_stop_by_itself_and_does_not_is_ended(run):
    process = run("with stops_itself(): ready(); time.sleep(60)")
    _, seconds = stop(process, signal.SIGINT)
    assert process.returncode == 130
    assert seconds < SOON
