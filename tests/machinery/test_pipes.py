"""Output that nobody reads."""

import io
import os
import subprocess
import sys

import pytest

from lupi._machinery.pipes import silent_when_closed
from lupi.cli import main
from lupi.serving.built_in import FOLDER as BUILT_IN_MODELS


@pytest.fixture
def closed(monkeypatch):
    """Nobody reads what is printed."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    monkeypatch.setattr(sys, "stdout", stream)
    yield stream
    stream.close()  # what is left of it goes nowhere


def test_a_command_ends_as_it_would_where_nobody_reads(closed):
    main(["models"])


def test_a_command_that_fails_fails_where_nobody_reads(closed, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("t,x\n0,1\n1,high\n")
    with pytest.raises(SystemExit) as stop:
        main(["check", str(path), "--time", "t", "--observed", "x"])
    assert stop.value.code == 2


def test_what_is_read_is_written(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    with silent_when_closed():
        print("here")
    assert stream.getvalue() == "here\n"
    assert sys.stdout is stream


MODEL = str(BUILT_IN_MODELS / "stiffness-lupi.lupi")


@pytest.mark.parametrize("command", [["models"], ["show", MODEL]], ids=lambda words: words[0])
def test_a_program_whose_reader_has_gone_is_silent_and_ends_with_0(command):
    """As `lupi show m.lupi | head -1` does, to the end of the interpreter."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "lupi", *command]
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=300)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
