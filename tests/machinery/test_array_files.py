"""Files that are damaged, or were made to do harm."""

import json
import struct

import numpy as np
import pytest

from lupi._machinery.array_files import read_arrays, write_arrays
from lupi.errors import UserError


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file.lupi"
    write_arrays(path, {"a": np.arange(6.0).reshape(2, 3)}, {"note": "x"}, kind="thing")
    return path


def test_what_was_written_is_read(path):
    header, arrays = read_arrays(path, kind="thing")
    assert header["note"] == "x"
    assert list(arrays) == ["a"]
    np.testing.assert_array_equal(arrays["a"], np.arange(6.0).reshape(2, 3))


def test_another_kind_is_refused(path):
    with pytest.raises(UserError, match="holds a thing, expected a forecaster"):
        read_arrays(path, kind="forecaster")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(UserError, match="truncated or of another kind"):
        read_arrays(path, kind="thing")


def write_raw(path, header: bytes, body: bytes = b"", length: int | None = None) -> None:
    path.write_bytes(struct.pack("<Q", len(header) if length is None else length) + header + body)


def tensor(shape, begin: int, end: int) -> dict:
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


HOSTILE = {
    "a header as long as the machine's memory": (b"{}", b"", 2**62),
    "a header longer than the file": (b"{}", b"", 5_000),
    "a tensor of petabytes": (json.dumps({"a": tensor([2**50], 0, 2**52)}).encode(), b"1234", None),
    "a tensor larger than its bytes": (
        json.dumps({"a": tensor([9], 0, 4)}).encode(),
        b"1234",
        None,
    ),
    "sizes whose product overflows": (
        json.dumps({"a": tensor([2**33, 2**33], 0, 4)}).encode(),
        b"1234",
        None,
    ),
    "a negative size": (json.dumps({"a": tensor([-1], 0, 4)}).encode(), b"1234", None),
    "bytes that two tensors share": (
        json.dumps({"a": tensor([1], 0, 4), "b": tensor([1], 0, 4)}).encode(),
        b"1234",
        None,
    ),
    "no JSON": (b"not json at all", b"", None),
    "brackets without end": (b"[" * 50_000, b"", None),
    "a pickle": (b"\x80\x04\x95", b"cos\nsystem\n(S'true'\ntR.", None),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_before_it_allocates(tmp_path, kind):
    header, body, length = HOSTILE[kind]
    path = tmp_path / "hostile.lupi"
    write_raw(path, header, body, length)
    with pytest.raises(UserError, match="truncated or of another kind"):
        read_arrays(path, kind="forecaster")


def write_metadata(path, text: str) -> None:
    header = {"__metadata__": {"lupi": text}, "a": tensor([1], 0, 4)}
    write_raw(path, json.dumps(header).encode(), b"1234")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "does not say what it is"),
        ("[1, 2]", "does not say what it is"),
        ('{"kind": "thing"}', "does not say what it is"),
        ('{"format": 99, "kind": "thing", "versions": {"lupi": "9.1"}}', r"wrote it \(9.1\)"),
        ('{"format": "new", "kind": "thing"}', "has format new"),
    ],
)
def test_a_header_without_sense_is_refused(tmp_path, text, message):
    write_metadata(tmp_path / "odd.lupi", text)
    with pytest.raises(UserError, match=message):
        read_arrays(tmp_path / "odd.lupi", kind="thing")


def test_names_that_look_like_paths_stay_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_arrays("file.lupi", {"../../outside": np.zeros(1)}, {}, kind="thing")
    assert list(read_arrays("file.lupi", kind="thing").arrays) == ["../../outside"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.lupi"]
