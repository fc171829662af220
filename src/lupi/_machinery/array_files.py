"""Arrays and what is to be said of them, in one file: safetensors with a JSON header. No pickle.

Reading executes nothing, and allocates nothing before the sizes that a file declares are found to
be those of the bytes it has.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from lupi._machinery.open_files import File, content_of, name_of, write_content
from lupi.errors import UserError

FORMAT = 4
"""Raised when a file written before could no longer be read."""

Header = dict[str, Any]


def write_arrays(file: File, arrays: dict[str, np.ndarray], header: Header, *, kind: str) -> None:
    """Write a file of some kind, whole or not at all."""
    text = json.dumps({"format": FORMAT, "kind": kind} | header, allow_nan=False)
    contents = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_content(file, save(contents, metadata={"lupi": text}))


def read_header(path: str | os.PathLike, *, kind: str) -> tuple[Header, dict[str, tuple[int, ...]]]:
    """The header of a file of this kind, and the shapes of its arrays."""
    with _Opened(path) as file:
        header = _header(Path(path), file.metadata(), kind)
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    return header, shapes


def read_arrays(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """All arrays of a file, by name."""
    with _Opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def read_open(file: Any, *, kind: str) -> tuple[Header, dict[str, np.ndarray]]:
    """The header and all arrays of an open file of this kind."""
    name, content = name_of(file), content_of(file)
    try:
        arrays = load(content)
    except SafetensorError as error:
        raise _damaged(name, error) from None
    described = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return _header(name, described.get("__metadata__"), kind), arrays


def _damaged(name: object, error: Exception) -> UserError:
    return UserError(
        f"expected a lupi file, but {name} is truncated or of another kind ({error}): "
        "restore the file or make it again."
    )


class _Opened:
    """`safe_open`, with errors a user can act on."""

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)

    def __enter__(self):
        if not self.path.is_file():
            raise UserError(f"expected a lupi file at {self.path}, found none: check the path.")
        try:
            self.file = safe_open(self.path, framework="numpy")
            return self.file.__enter__()
        except SafetensorError as error:
            raise _damaged(self.path, error) from None

    def __exit__(self, kind, error, trace):
        self.file.__exit__(kind, error, trace)
        if isinstance(error, SafetensorError):
            raise _damaged(self.path, error) from None


def _header(path: Path | str, metadata: dict[str, str] | None, kind: str) -> Header:
    if not metadata or "lupi" not in metadata:
        raise UserError(
            f"expected a lupi file, but {path} was written by another program: "
            "give a file that `lupi` saved."
        )
    try:
        header = json.loads(metadata["lupi"])
        found, version = header.get("kind", "process"), header["format"]
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"the header of {path} does not say what it is ({error!r}): restore the file or make "
            "it again."
        ) from None
    if not isinstance(version, int) or version > FORMAT:
        raise UserError(
            f"{path} has format {version}, this version of lupi reads up to {FORMAT}: install the "
            f"version that wrote it ({header.get('versions', {}).get('lupi', 'a later one')})."
        )
    if found != kind:
        raise UserError(
            f"{path} holds a {found}, expected a {kind}: give a file of that kind, or read it with "
            "what wrote it."
        )
    return header
