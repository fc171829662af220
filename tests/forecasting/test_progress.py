"""What is said while a forecaster is trained, and when it is there already."""

import io
import sys

import pytest

import lupi
from blended_runs import COLUMNS, RUNS, SETTINGS
from lupi.forecasting import progress
from lupi.forecasting.finished import read_same


class Clock:
    """A clock that goes on when told."""

    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_say_compiling_then_the_first_epoch_then_now_and_then_and_the_last():
    lines, clock = [], Clock()
    show = progress.epochs_as_lines(100, lines.append, clock)
    assert lines == ["Compiling the first step"]
    clock.now += 20.0  # which the compiler took
    for epoch in range(1, 101):
        show(
            {"epoch": epoch, "validation_loss": 1 / epoch} if epoch % 10 == 1 else {"epoch": epoch}
        )
        clock.now += 1.0
    assert lines[1] == "Training: epoch 1 of 100, validation loss 1.00"
    assert lines[2] == "Training: epoch 16 of 100, validation loss 0.09, at most 84 s left"
    assert lines[-1] == "Training: epoch 100 of 100, validation loss 0.01"
    assert len(lines) == 2 + 99 // 15 + 1


def test_where_there_is_no_terminal_lines_go_to_the_error_stream(capsys):
    with progress.show_epochs(3) as show:
        show({"epoch": 1})
    with progress.show_waiting("Looking"):
        pass
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "lupi: Compiling the first step",
        "lupi: Training: epoch 1 of 3",
        "lupi: Looking",
    ]


def test_on_a_terminal_it_says_compiling_until_the_first_epoch(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.show_epochs(30) as show:
        before = terminal.getvalue()
        show({"epoch": 7, "validation_loss": 0.5})
    assert "Compiling the first step" in before
    assert "epoch" not in before
    after = terminal.getvalue()[len(before) :]
    assert "Training" in after
    assert "epoch 7 of 30, validation loss 0.50" in after


@pytest.fixture
def made(blended, tmp_path):
    path = tmp_path / "model.lupi"
    blended.save(path)
    return path


def test_what_the_same_training_has_made_is_known(blended, made):
    series = lupi.read_series(RUNS, **COLUMNS)
    found = read_same(made, series, SETTINGS, seed=0)
    assert found == blended.provenance


def test_another_seed_other_settings_other_data_and_no_file_are_not_the_same(made, tmp_path):
    series = lupi.read_series(RUNS, **COLUMNS)
    assert read_same(made, series, SETTINGS, seed=1) is None
    others = SETTINGS.model_copy(update={"members": 2})
    assert read_same(made, series, others, seed=0) is None
    assert read_same(made, series[:9], SETTINGS, seed=0) is None
    assert read_same(tmp_path / "none.lupi", series, SETTINGS, seed=0) is None
    made.write_bytes(b"something else")
    assert read_same(made, series, SETTINGS, seed=0) is None


def test_a_training_that_was_stopped_is_the_same_and_says_so(blended, made, monkeypatch):
    monkeypatch.setitem(blended._fitted.provenance, "interrupted", True)
    blended.save(made)
    found = read_same(made, lupi.read_series(RUNS, **COLUMNS), SETTINGS, seed=0)
    assert found is not None
    assert found["interrupted"]
