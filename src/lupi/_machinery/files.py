"""Writing files so that a reader, a crash or a full disk never meets half of one."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lupi.errors import UserError

_unfinished: set[Path] = set()
"""What is there only while this process is: parts of files, and locks."""


def check_file_name(path: str | os.PathLike) -> None:
    """Raise if no file can have this name: the system would, in words of its own."""
    if "\0" in os.fspath(path):
        raise UserError(f"no file can be called {os.fspath(path)!r:.60}: choose another name.")


def target_of(path: str | os.PathLike) -> Path:
    """The file that is written where `path` is: where symbolic links lead, and never a device."""
    check_file_name(path)
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise UserError(f"expected the name of a file, {os.fspath(path)!r} is a folder: name one.")
    if target.exists() and not target.is_file():
        raise UserError(f"{os.fspath(path)!r} is a device or a pipe, expected a file: name one.")
    return target


def write_atomically(path: str | os.PathLike, content: bytes | str) -> None:
    """Write `content` to `path`, whole or not at all; folders are made on the way.

    The bytes go to a neighbour file that is renamed over `path` once the disk has them, so what
    stood at `path` before stays until the new content is complete. A symbolic link stays one: what
    it points at is written.
    """
    target = target_of(path)
    data = content.encode() if isinstance(content, str) else content
    target.parent.mkdir(parents=True, exist_ok=True)
    # Of this thread: a command that is stopped saves from another one than that which works.
    writer = f"{os.getpid()}-{threading.get_ident():x}"
    partial = target.with_name(f".{target.name}.{writer}.partial")
    _unfinished.add(partial)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    finally:
        _unfinished.discard(partial)


def remove_unfinished() -> None:
    """Remove what this process would remove in time: it is about to end at once."""
    for partial in list(_unfinished):
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def remove_partial(path: str | os.PathLike) -> None:
    """Remove what writers of `path` left that were killed while they wrote."""
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        for entry in target.parent.iterdir():
            if entry.name.startswith(f".{target.name}.") and entry.name.endswith(".partial"):
                entry.unlink(missing_ok=True)


@contextmanager
def locked(lock: Path, complaint: str) -> Iterator[None]:
    """Hold a lock file, or raise the complaint where another process does.

    The lock goes with the process, however that ends; the file goes with the lock, unless the
    process was killed.
    """
    from filelock import FileLock, Timeout

    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(lock, timeout=0):
            _unfinished.add(lock)
            try:
                yield
            finally:
                with suppress(OSError):  # some systems remove no file that is open
                    lock.unlink(missing_ok=True)
                _unfinished.discard(lock)
    except Timeout:
        raise UserError(complaint) from None
