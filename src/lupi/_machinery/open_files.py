"""Files that a caller names by a path, or has open."""

import os
from typing import Any

from lupi._machinery.files import write_atomically
from lupi.errors import UserError

File = str | os.PathLike | Any
"""A path, or whatever bytes are read from or written to."""


def name_of(file: File) -> str:
    """What messages call it."""
    if isinstance(file, str | os.PathLike):
        return os.fspath(file)
    return str(getattr(file, "name", "the open file"))


def content_of(file: Any) -> bytes:
    """All bytes of an open file, from where it stands."""
    content = file.read() if hasattr(file, "read") else file
    if not isinstance(content, bytes):
        raise UserError(
            "expected a path, or a file that is open for reading bytes, got "
            f'{type(content).__name__}: open the file with mode "rb".'
        )
    return content


def write_content(file: File, content: bytes) -> None:
    """Write to an open file, where it stands; or to a path, whole or not at all."""
    if isinstance(file, str | os.PathLike):
        write_atomically(file, content)
        return
    try:
        file.write(content)
    except (TypeError, AttributeError):
        raise UserError(
            "expected a path, or a file that is open for writing bytes, got "
            f'{type(file).__name__}: open the file with mode "wb".'
        ) from None
