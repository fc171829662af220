"""Model files with some bytes changed: refused, or what was saved."""

import copy
import functools
import io
import json
import pickle
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load

import lupi
from fuzz.attack import CHANGES, CORPUS, change_somewhere, changed, examples, model, model_file
from fuzz.law import folder, is_over, run
from lupi._machinery.array_files import write_arrays
from lupi.errors import UserError


def is_refused_or_the_same(content: bytes) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = lupi.load(io.BytesIO(content))
    except UserError:
        return
    assert found == model()


@examples(150)
@given(CHANGES)
def test_a_changed_file_is_refused_or_is_what_was_saved(changes):
    if not is_over():
        is_refused_or_the_same(changed(model_file(), changes))


@examples(4)
@given(CHANGES)
def test_commands_refuse_a_changed_file_or_use_it_as_it_was_saved(changes):
    if is_over():
        return
    with folder({"model.lupi": changed(model_file(), changes)}):
        run("show", "model.lupi")
        run("predict", "model.lupi", "--times", "1,2", "--out", "f.csv", writes=["f.csv"])


@functools.cache
def parts_of_file() -> tuple[dict, dict]:
    """The header and the arrays of the model's file."""
    content = model_file()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["lupi"]), load(content)


@examples(60)
@given(st.data())
def test_a_header_that_says_something_else_is_refused_or_kept(data):
    """As somebody would change it who knows the format: the file around it is in order."""
    header, arrays = copy.deepcopy(parts_of_file())
    change_somewhere(header, data.draw)
    if is_over():  # not before all is drawn: hypothesis holds the same to be drawn each time
        return
    file = io.BytesIO()
    write_arrays(file, arrays, header, kind="forecaster")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = lupi.load(io.BytesIO(file.getvalue()))
    except UserError:
        return
    assert pickle.loads(pickle.dumps(found)) == found
    assert len(repr(found)) < 1000


@pytest.mark.parametrize("path", sorted((CORPUS / "files").iterdir()), ids=lambda path: path.name)
def test_a_file_that_broke_something_once_is_refused(path):
    with folder({"model.lupi": path.read_bytes()}):
        assert run("show", "model.lupi").code == 2
        assert run("predict", "model.lupi", "--out", "f.csv", writes=["f.csv"]).code == 2
