"""The files of a command: what it reads and what it writes, looked at before any work is done."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lupi._machinery.files import check_file_name, target_of
from lupi.errors import UserError

Overwrite = Annotated[bool, Parameter(negative="")]
"""The option that lets a command write over files that are there."""

Files = Sequence[tuple[str, "str | Path | None"]]
"""Each with what it is called on the command line; none where none was given."""


def check_files(*, reads: Files, writes: Files, overwrite: bool) -> None:
    """Raise unless everything can be written, and nothing is written over that is needed.

    A file that is read is never written, whatever is said. Another one that is there is written
    over only if that is said. Symbolic links stand for what they point at.
    """
    for _, path in reads:
        if path is not None:
            check_file_name(path)
    taken = [(f"to be read: {name}", Path(path)) for name, path in reads if path is not None]
    for name, path in writes:
        if path is None:
            continue
        target = target_of(path)
        for what, used in taken:
            if _is_same(target, used):
                raise UserError(f"{name} {path} is the file {what}. Choose another name.")
        if not overwrite:
            refuse_existing(name, path)
        _check_writable(name, target)
        taken.append((f"to be written: {name}", target))


def refuse_existing(name: str, path: str | Path) -> None:
    """Raise if there is a file."""
    if Path(path).exists():
        raise UserError(
            f"{name} {path} is there already: give another name, or --overwrite to write over it."
        )


def _is_same(target: Path, used: Path) -> bool:
    if target.exists() and used.exists():
        return target.samefile(used)
    return os.path.realpath(used) == str(target)


def _check_writable(name: str, target: Path) -> None:
    """Raise unless a file could be made there; folders that are missing are made later."""
    folder = next(folder for folder in target.parents if folder.exists())
    if not folder.is_dir():
        raise UserError(f"{name}: expected a folder at {folder}, found a file: choose another.")
    reason = "it is only for reading"
    try:
        with tempfile.TemporaryFile(dir=folder):
            if not target.exists() or os.access(target, os.W_OK):
                return
    except OSError as error:
        reason = error.strerror or str(error)
    raise UserError(f"{name} {target} cannot be written ({reason}): choose another place.")
