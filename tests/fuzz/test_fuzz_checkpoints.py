"""Checkpoints with something changed: refused, or training goes on to a forecaster."""

import copy
import functools
import io
import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lupi
from fuzz.attack import CHANGES, TINY, change_somewhere, changed, examples, runs
from fuzz.law import folder, is_over, run
from lupi._machinery.array_files import ArrayFile, read_arrays, write_arrays
from lupi.errors import UserError

COLUMNS = {"series": "run", "time": "t", "observed": ["x", "y"]}
PROCESS = {"hidden_size": 2, "representation_size": 2}
EPOCHS, DONE = 4, 2


def fit(checkpoint: Path, on_epoch=None) -> lupi.Forecaster:
    """A training, from its checkpoint if there is one."""
    settings = lupi.forecaster_settings(
        "paper", model="cnp", process=PROCESS, train={"epochs": EPOCHS}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = lupi.read_series(runs(), **COLUMNS)
        return lupi.Forecaster(settings).fit(
            table, checkpoint=checkpoint, on_epoch=on_epoch, progress=False
        )


def stop(row) -> None:
    if row["epoch"] == DONE:
        raise KeyboardInterrupt


@functools.cache
def halfway() -> bytes:
    """The checkpoint of a training that was stopped in the middle."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "checkpoint"
        fit(path, stop)
        return path.read_bytes()


def go_on(checkpoint: bytes) -> lupi.Forecaster | None:
    """The forecaster that training from there on gives; nothing if it is refused, and stays."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "checkpoint"
        path.write_bytes(checkpoint)
        try:
            return fit(path)
        except UserError:
            assert path.read_bytes() == checkpoint
            return None


@functools.cache
def undisturbed() -> np.ndarray:
    """What the training comes to."""
    forecaster = go_on(halfway())
    assert forecaster is not None
    return forecaster.predict(None, [1.0, 2.0]).samples


@examples(15)
@given(CHANGES)
def test_a_changed_checkpoint_is_refused_or_is_what_was_saved(changes):
    if is_over():
        return
    forecaster = go_on(changed(halfway(), changes))
    if forecaster is not None:
        found = forecaster.predict(None, [1.0, 2.0]).samples
        np.testing.assert_array_equal(found, undisturbed())


@functools.cache
def parts_of_checkpoint() -> ArrayFile:
    """Its header and its arrays."""
    return read_arrays(io.BytesIO(halfway()), kind="checkpoint")


NUMBERS = st.sampled_from([0, 1, -1, 3, 1e9, -1e30, 1e38, np.nan, np.inf, -np.inf])


def change_an_array(arrays: dict[str, np.ndarray], draw) -> None:
    """One array of another length, type or name, or with another number in it, or none at all."""
    # Few are of the history, and those are what is understood.
    names = sorted(arrays) + 5 * [name for name in sorted(arrays) if name.startswith("history")]
    name = draw(st.sampled_from(names))
    array = arrays.pop(name).copy()
    with np.errstate(all="ignore"):
        match draw(st.sampled_from(["drop", "name", "type", "length", "number", "all"])):
            case "name":
                arrays[name + draw(st.sampled_from("0.x"))] = array
            case "type":
                kind = draw(st.sampled_from(["f2", "f4", "f8", "i1", "i4", "i8", "u1", "?"]))
                arrays[name] = array.astype(kind)
            case "length":
                size, axis = draw(st.integers(0, 8)), draw(st.integers(0, max(array.ndim - 1, 0)))
                arrays[name] = np.resize(array, [*array.shape[:axis], size])
            case "number" if array.size:
                array.flat[draw(st.integers(0, array.size - 1))] = draw(fitting(array))
                arrays[name] = array
            case "all":
                arrays[name] = np.full_like(array, draw(fitting(array)))


def fitting(array: np.ndarray):
    """Numbers that such an array can hold, also one whose type was changed before."""
    if array.dtype.kind == "f":
        return NUMBERS
    if array.dtype.kind == "b":
        return st.booleans()
    ends = np.iinfo(array.dtype)
    numbers = (0, 1, -1, 10**9, ends.min, ends.max)
    return st.sampled_from([number for number in numbers if ends.min <= number <= ends.max])


@examples(20)
@given(st.data())
def test_a_checkpoint_that_says_something_else_is_refused_or_gives_a_forecaster(data):
    """As somebody would change it who knows the format: the file around it is in order."""
    header, arrays = copy.deepcopy(parts_of_checkpoint())
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.integers(0, 4)):
            change_an_array(arrays, data.draw)
        else:
            change_somewhere(header, data.draw)
    if is_over():  # not before all is drawn: hypothesis holds the same to be drawn each time
        return
    file = io.BytesIO()
    write_arrays(file, arrays, header, kind="checkpoint")
    forecaster = go_on(file.getvalue())
    if forecaster is not None:
        again = io.BytesIO()
        forecaster.save(again)
        assert lupi.load(io.BytesIO(again.getvalue())) == forecaster


TRAIN = ["train", "runs.csv", "--series", "run", "--time", "t", "--observed", "x,y"]
TRAIN += [*TINY, "--train.epochs", str(EPOCHS), "--out", "n.lupi"]


@examples(2)
@given(CHANGES)
def test_train_refuses_a_changed_checkpoint_and_leaves_it(changes):
    if is_over():
        return
    content = changed(halfway(), changes)
    files = {"runs.csv": runs().to_csv(index=False), "n.lupi.checkpoint": content}
    with folder(files):
        writes = ["n.lupi"] if content != halfway() else ["n.lupi", "n.lupi.checkpoint"]
        assert run(*TRAIN, writes=writes).code == (2 if content != halfway() else 0)
