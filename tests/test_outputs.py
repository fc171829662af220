"""What stands in a folder stays there, whatever a command is told to write."""

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

import lupi
from lupi._machinery.files import locked, write_atomically
from lupi.cli import main
from lupi.errors import UserError, UserNotice

OLD = Path(__file__).parent / "old_files" / "forecaster.lupi"
COLUMNS = ["--series", "run", "--time", "t", "--observed", "x,y"]
TRAIN = ["train", "runs.csv", *COLUMNS, "--privileged", "k"]
PREDICT = ["predict", "model.lupi", "new.csv"]


@pytest.fixture(scope="module")
def model() -> lupi.Forecaster:
    with pytest.warns(UserNotice, match="without a checksum"):
        return lupi.load(OLD)


@pytest.fixture
def folder(model, tmp_path, monkeypatch) -> Path:
    """A model, tables and settings, all of them a user's own."""
    monkeypatch.chdir(tmp_path)
    model.save("model.lupi")
    shutil.copy("model.lupi", "model.csv")
    Path("runs.csv").write_text("run,t,x,y\na,0,1,2\na,1,2,3\nb,0,1,3\nb,1,4,5\nc,0,2,2\nc,1,3,1\n")
    Path("known.csv").write_text("run,k\na,1\nb,2\nc,3\n")
    Path("new.csv").write_text("run,t,x,y\nc,0,10,90\nc,1,10.5,80\n")
    Path("settings.toml").write_text("[train]\nepochs = 2\n")
    Path("picture.png").write_bytes(b"a picture")
    Path("folder").mkdir()
    Path("folder/report.html").write_text("a report of something else")
    Path("link.csv").symlink_to("runs.csv")
    os.link("runs.csv", "hard.csv")
    Path("taken").mkdir()
    Path("taken/model.lupi.checkpoint").write_text("somebody's notes")
    return tmp_path


@pytest.fixture
def no_work(monkeypatch):
    """What must not be reached: all is to be seen before."""

    def work(*_, **__):
        raise AssertionError("work was begun")

    monkeypatch.setattr(lupi.Forecaster, "fit", work)
    monkeypatch.setattr(lupi.Forecaster, "predict", work)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


SECOND = ["--privileged-table", "known.csv"]

REFUSED = {
    "the table": ([*TRAIN, "--out", "runs.csv"], "is the file to be read: the table"),
    "the table by a link": ([*TRAIN, "--out", "link.csv"], "is the file to be read"),
    "the table by another name": ([*TRAIN, "--out", "hard.csv"], "is the file to be read"),
    "the table by a detour": ([*TRAIN, "--out", "folder/../runs.csv"], "is the file to be read"),
    "the settings": (
        [*TRAIN, "--config", "settings.toml", "--out", "settings.toml"],
        "is the file to be read: --config",
    ),
    "the privileged table": (
        [*TRAIN, *SECOND, "--out", "known.csv"],
        "is the file to be read: --privileged-table",
    ),
    "the model": (
        ["predict", "model.csv", "new.csv", "--out", "model.csv"],
        "is the file to be read: the model",
    ),
    "the observations, by --systems": (
        [*PREDICT, "--out", "f.csv", "--systems", "new.csv"],
        "is the file to be read: the observations",
    ),
    "one file for two": (
        [*PREDICT, "--out", "f.csv", "--systems", "./f.csv"],
        "is the file to be written: --out",
    ),
    "a folder": ([*TRAIN, "--out", "folder"], "is a folder"),
    "the folder that it is in": ([*TRAIN, "--out", "."], "is a folder"),
    "the root": ([*TRAIN, "--out", "/"], "is a folder"),
    "nothing": ([*TRAIN, "--out", ""], "is a folder"),
    **{
        f"{what}, by {command[0]}": ([*command, "--out", out], "expected a file name ending in")
        for command in (PREDICT, ["simulate", "damping"])
        for what, out in (("this folder", "."), ("the root", "/"), ("nothing", ""))
    },
    "a picture called nothing": ([*PREDICT, "--out", "f.csv", "--plot", ""], "--plot must end in"),
    "a name that no file can have": ([*TRAIN, "--out", "n\0.lupi"], "no file can be called"),
    "a table that no file can be": (
        ["train", "\0", *TRAIN[2:], "--out", "n.lupi"],
        "no file can be called",
    ),
    "a device": ([*TRAIN, "--out", "/dev/null"], "is a device"),
    "a place in a file": ([*TRAIN, "--out", "runs.csv/model.lupi"], "found a file"),
    "a place that cannot be written": ([*TRAIN, "--out", "/proc/model.lupi"], "cannot be written"),
}


@pytest.mark.parametrize("more", [[], ["--overwrite"]], ids=["", "overwrite"])
@pytest.mark.parametrize("what", REFUSED)
def test_it_is_not_written_whatever_is_said(folder, no_work, capsys, what, more):
    arguments, message = REFUSED[what]
    refuses([*arguments, *more], message, folder, capsys)


THERE = {
    "a model of another training": [*TRAIN, *SECOND, "--out", "model.lupi"],
    "a file of another kind": [*TRAIN, *SECOND, "--out", "picture.png"],
    "a forecast's table": [*PREDICT, "--out", "runs.csv"],
    "a forecast's picture": [*PREDICT, "--out", "f.csv", "--plot", "picture.png"],
    "a simulated table": ["simulate", "damping", "--out", "runs.csv"],
    "a report": ["evaluate", "model.lupi", "new.csv", "--out", "folder"],
}


@pytest.mark.parametrize("what", THERE)
def test_what_is_there_is_not_written_over_unless_that_is_said(folder, no_work, capsys, what):
    refuses(THERE[what], "is there already: give another name, or --overwrite", folder, capsys)


def refuses(arguments, message, folder, capsys) -> None:
    before = contents(folder)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert contents(folder) == before


def test_a_link_stays_a_link_and_what_it_points_at_is_written(folder):
    Path("elsewhere").mkdir()
    Path("forecast.csv").symlink_to("elsewhere/forecast.csv")
    outputs = ["--out", "forecast.csv", "--systems", "link.csv", "--overwrite"]
    main([*PREDICT, "--times", "1,2", *outputs])
    assert Path("forecast.csv").is_symlink()
    assert len(pd.read_csv("elsewhere/forecast.csv")) == 2
    assert Path("link.csv").is_symlink()
    assert len(pd.read_csv("runs.csv")) == 1


def test_a_written_file_keeps_who_may_read_it(tmp_path):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o600)
    write_atomically(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "new"


def test_a_device_is_not_replaced_from_python_either(model):
    with pytest.raises(UserError, match="is a device"):
        model.save("/dev/null")
    assert not Path("/dev/null").is_file()


def test_a_training_that_another_is_doing_is_refused(folder, no_work, capsys):
    with locked(folder / ".new.lupi.lock", "busy"):
        before = contents(folder)
        with pytest.raises(SystemExit) as stop:
            main([*TRAIN, *SECOND, "--out", "new.lupi"])
        assert stop.value.code == 2
        assert "another `lupi train` is writing new.lupi" in capsys.readouterr().err
        assert contents(folder) == before
    assert not (folder / ".new.lupi.lock").exists()


def test_a_file_in_the_place_of_a_checkpoint_is_kept(folder, capsys):
    before = contents(folder)
    with pytest.raises(SystemExit) as stop:
        main([*TRAIN, *SECOND, "--out", "taken/model.lupi", "--preset", "paper"])
    assert stop.value.code == 2
    assert "expected a lupi file, but" in capsys.readouterr().err
    assert contents(folder) == before


@pytest.mark.parametrize("how", [KeyboardInterrupt, UserError("the loss is no number")])
def test_a_finished_model_stays_when_training_onto_it_is_stopped(folder, model, monkeypatch, how):
    def stopped(self, series, *, seed, checkpoint):
        self._fitted = model._fitted
        raise how

    monkeypatch.setattr(lupi.Forecaster, "fit", stopped)
    before = contents(folder)
    with pytest.raises(SystemExit) as stop:
        main([*TRAIN, *SECOND, "--out", "model.lupi", "--overwrite"])
    assert stop.value.code == (2 if isinstance(how, UserError) else 130)
    assert contents(folder) == before


def test_a_finished_model_is_replaced_when_another_is_finished(folder, model, monkeypatch):
    def finished(self, series, *, seed, checkpoint):
        self._fitted, self.settings = model._fitted, model.settings
        return self

    monkeypatch.setattr(lupi.Forecaster, "fit", finished)
    Path("model.lupi").write_bytes(b"something else")
    main([*TRAIN, *SECOND, "--out", "model.lupi", "--overwrite", "--json"])
    assert lupi.load("model.lupi").columns == model.columns
