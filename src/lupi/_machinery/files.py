"""Writing files so that a reader, a crash or a full disk never meets half of one."""

import os
from contextlib import suppress
from pathlib import Path


def remove_partial(path: str | os.PathLike) -> None:
    """Remove what writers of `path` left that were killed while they wrote."""
    path = Path(path)
    for partial in path.parent.glob(f".{path.name}.*.partial"):
        partial.unlink(missing_ok=True)


def write_atomically(path: str | os.PathLike, content: bytes | str) -> None:
    """Write `content` to `path`, whole or not at all; folders are made on the way.

    The bytes go to a neighbour file that is renamed over `path` once the disk has them, so what
    stood at `path` before stays until the new content is complete.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
