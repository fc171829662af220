"""Arrays and what is to be said of them, in one file: safetensors with a JSON header. No pickle.

Every byte is under a checksum. Reading executes nothing, and allocates no more than the bytes that
a file has.
"""

import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from lupi._machinery.open_files import File, content_of, name_of, write_content
from lupi.errors import UserError, UserNotice

FORMAT = 10
"""Raised when a file written before could no longer be read, and when there is more in one that
must not be passed over: from 5 on a checksum, from 6 on a correction of networks, from 7 on widths
that tell times after what was seen from others, from 8 on how far apart privileged values are, from
9 on the range of what is known of new series, from 10 on settings that were chosen."""

CHECKED_FROM = 5

LONGEST_HEADER = 2**22
"""Bytes: as many as ten thousand columns need."""

DEEPEST = 16
"""Levels of a header."""

NO_SUM = "0" * 64
"""What stands in the place of the checksum while it is computed."""

Header = dict[str, Any]


class ArrayFile(NamedTuple):
    """What a file holds."""

    header: Header
    arrays: dict[str, np.ndarray]


def write_arrays(file: File, arrays: dict[str, np.ndarray], header: Header, *, kind: str) -> None:
    """Write a file of some kind, whole or not at all."""
    text = json.dumps({"format": FORMAT, "kind": kind} | header, allow_nan=False)
    contents = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data = _in_order(save(contents, metadata={"lupi": text, "sha256": NO_SUM}))
    if _header_length(data) > LONGEST_HEADER:
        raise UserError(
            f"{name_of(file)} would have a header of {_header_length(data)} bytes, expected at "
            f"most {LONGEST_HEADER}: name fewer columns or categories."
        )
    place = _place_of_sum(data, NO_SUM)
    checksum = hashlib.sha256(data).hexdigest().encode()
    write_content(file, data[:place] + checksum + data[place + len(checksum) :])


def _in_order(data: bytes) -> bytes:
    """The same file, with what is said of it in one order: safetensors' own is random."""
    end = 8 + _header_length(data)
    described = json.loads(data[8:end])
    described["__metadata__"] = dict(sorted(described["__metadata__"].items()))
    head = json.dumps(described, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + data[end:]


def read_arrays(file: File, *, kind: str) -> ArrayFile:
    """What a file of this kind holds, once it is sure that it is as it was written.

    Files of formats before there were checksums are read with a notice.
    """
    path = name_of(file)
    data = _read(file)
    try:
        arrays = load(data)
        metadata = json.loads(data[8 : 8 + _header_length(data)]).get("__metadata__")
    except RecursionError:
        raise _no_lupi_file(path, "nested without end") from None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise _no_lupi_file(path, error) from None
    header = _header(path, metadata, kind)
    _check_sum(path, data, metadata, header["format"])
    return ArrayFile(header, arrays)


def _read(file: File) -> bytes:
    """All bytes of a file, once the first of them do not promise a header longer than any is."""
    if not isinstance(file, str | os.PathLike):
        data = content_of(file)
        _check_length(name_of(file), data[:8], len(data))
        return data
    path = Path(file)
    if not path.is_file():
        raise UserError(f"expected a lupi file at {path}, found none: check the path.")
    with path.open("rb") as opened:
        first = opened.read(8)
        _check_length(name_of(file), first, path.stat().st_size)
        return first + opened.read()


def _check_length(name: str, first: bytes, size: int) -> None:
    length = int.from_bytes(first, "little")
    if len(first) == 8 and LONGEST_HEADER < length <= size:
        raise UserError(
            f"the header of {name} has {length} bytes, expected at most {LONGEST_HEADER}: "
            "lupi wrote no such file; restore it or make it again."
        )
    if len(first) < 8 or length > size - 8:
        raise _no_lupi_file(name, "it is shorter than its header")


def _no_lupi_file(path: str, error: object) -> UserError:
    return UserError(
        f"expected a lupi file, but {path} is truncated or of another kind ({error}): "
        "restore the file or make it again."
    )


def _header_length(data: bytes) -> int:
    return int.from_bytes(data[:8], "little")


def _place_of_sum(data: bytes, checksum: str) -> int:
    """Where the checksum stands, as a text of its own; -1 if nowhere or not once."""
    text, end = f'"{checksum}"'.encode(), 8 + _header_length(data)
    return data.find(text, 8, end) + 1 if data.count(text, 8, end) == 1 else -1


def _header(path: str, metadata: dict[str, str] | None, kind: str) -> Header:
    if not metadata or "lupi" not in metadata:
        raise UserError(
            f"expected a lupi file, but {path} was written by another program: "
            "give a file that `lupi` saved."
        )
    try:
        header = json.loads(metadata["lupi"], parse_constant=_refuse_constant)
        found, version = header.get("kind", "process"), header["format"]
        if _is_deeper(header, DEEPEST):
            raise ValueError(f"it has more than {DEEPEST} levels")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"the header of {path} does not say what it is ({error!r:.200}): restore the file or "
            "make it again."
        ) from None
    if type(version) is not int or not 1 <= version <= FORMAT:
        versions = header.get("versions")
        writer = versions.get("lupi") if isinstance(versions, dict) else None
        raise UserError(
            f"{path} has format {version!s:.20}, this version of lupi reads up to {FORMAT}: "
            f"install the version that wrote it ({writer or 'a later one'!s:.20})."
        )
    if found != kind:
        raise UserError(
            f"{path} holds a {found!s:.40}, expected a {kind}: give a file of that kind, or read "
            "it with what wrote it."
        )
    return header


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether there are more levels than these of lists and tables in each other."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner)


def _check_sum(path: str, data: bytes, metadata: dict[str, str], version: int) -> None:
    """Raise if a byte is not as it was written; notice a file that cannot tell."""
    checksum = metadata.get("sha256")
    if checksum is None and version < CHECKED_FROM:
        warnings.warn(
            f"{path} was saved by an earlier version of lupi, without a checksum: whether it has "
            "been changed since cannot be told. Save it again to have one.",
            UserNotice,
            stacklevel=4,
        )
        return
    place = -1 if checksum is None else _place_of_sum(data, checksum)
    blank = NO_SUM.encode()
    if place < 0 or (
        hashlib.sha256(data[:place] + blank + data[place + len(blank) :]).hexdigest() != checksum
    ):
        raise UserError(
            f"{path} is not as it was written, its checksum is another: it is damaged or was "
            "changed; restore the file or make it again."
        )
