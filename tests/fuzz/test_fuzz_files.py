"""Model files with some bytes changed: refused, or what was saved."""

import io
import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lupi
from fuzz.attack import CORPUS, examples, model, model_file
from fuzz.law import folder, is_over, run
from lupi.errors import UserError

KINDS = ["flip", "set", "cut", "put", "truncate", "swap"]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(KINDS), st.integers(0, 2**14), st.integers(0, 255), st.integers(0, 2**14)
    ),
    min_size=1,
    max_size=3,
)
"""What is done, at which byte, with what number, and at which other byte."""


def changed(changes: list[tuple[str, int, int, int]]) -> bytes:
    """The file of the model with bytes changed, cut out, put in or exchanged."""
    content = bytearray(model_file())
    for kind, place, number, other in changes:
        place, other = place % len(content), other % len(content)
        match kind:
            case "flip":
                content[place] ^= 1 << number % 8
            case "set":
                content[place] = number
            case "cut":
                del content[place : place + number]
            case "put":
                content[place:place] = bytes([number])
            case "truncate":
                del content[max(place, 1) :]
            case "swap":
                content[place], content[other] = content[other], content[place]
        content = content or bytearray(1)
    return bytes(content)


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
        is_refused_or_the_same(changed(changes))


@examples(4)
@given(CHANGES)
def test_commands_refuse_a_changed_file_or_use_it_as_it_was_saved(changes):
    if is_over():
        return
    with folder({"model.lupi": changed(changes)}):
        run("show", "model.lupi")
        run("predict", "model.lupi", "--times", "1,2", "--out", "f.csv", writes=["f.csv"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def places_in(value, before=()):
    """Where there is something in a tree of dictionaries and lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*before, key)
        if isinstance(item, dict | list):
            yield from places_in(item, (*before, key))


@examples(30)
@given(st.data())
def test_a_header_that_says_something_else_is_refused_or_is_what_was_saved(data):
    """As somebody would change it who knows the format: the file around it is in order."""
    if is_over():
        return
    content = model_file()
    end = 8 + int.from_bytes(content[:8], "little")
    outer = json.loads(content[8:end])
    header = json.loads(outer["__metadata__"]["lupi"])
    place = data.draw(st.sampled_from(list(places_in(header))))
    within = header
    for key in place[:-1]:
        within = within[key]
    if data.draw(st.booleans()):
        within[place[-1]] = data.draw(JSON)
    elif isinstance(within, dict):
        del within[place[-1]]
    outer["__metadata__"]["lupi"] = json.dumps(header)
    changed = json.dumps(outer).encode()
    is_refused_or_the_same(len(changed).to_bytes(8, "little") + changed + content[end:])


@pytest.mark.parametrize("path", sorted((CORPUS / "files").iterdir()), ids=lambda path: path.name)
def test_a_file_that_broke_something_once_is_refused(path):
    with folder({"model.lupi": path.read_bytes()}):
        assert run("show", "model.lupi").code == 2
        assert run("predict", "model.lupi", "--out", "f.csv", writes=["f.csv"]).code == 2
