"""The law that every command keeps, whatever it is given.

It ends with 0, 2 or 130, and with 2 it says why; there is no traceback; every file that was there
before is there after, but for what it was told to write; and it writes nothing else.
"""

import contextlib
import hashlib
import io
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxtyping import TypeCheckError

from lupi.cli import main

END = float(os.environ.get("FUZZ_END", "inf"))
"""When a long attack is over, in seconds since 1970."""


def is_over() -> bool:
    """Whether the time of a long attack has run out."""
    return time.time() > END


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def folder(files: dict[str, bytes | str]) -> Iterator[Path]:
    """The current folder, with these files and no others, in one that is empty but for it."""
    with tempfile.TemporaryDirectory() as outer:
        inner = Path(outer) / "inner"
        for name, content in files.items():
            path = inner / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        with contextlib.chdir(inner):
            yield inner


def run(*arguments: str, writes: Sequence[str] = ()) -> Ended:
    """Run a command in this process and folder, and see that it keeps the law.

    `writes` are the files and folders that it is told to write.
    """
    before = _files()
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                main([*arguments])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except TypeCheckError as error:  # of the tests alone, which check the types of arguments
            code = 2
            print(error, file=err)
    ended = Ended(code, out.getvalue(), err.getvalue())
    said = f"{arguments}\n{ended}"
    assert code in (0, 2, 130), said
    assert "Traceback" not in ended.err, said
    assert "\x1b" not in ended.out + ended.err, said
    assert code != 2 or (ended.out + ended.err).strip(), said
    after, told = _files(), {str(Path(name)) for name in writes}
    for name, digest in before.items():
        if not _is_told(name, told):
            assert after.get(name) == digest, f"{name} was changed or lost: {said}"
    new = [name for name in after if name not in before and not _is_told(name, told)]
    assert not new, f"{new} was written: {said}"
    return ended


def _is_told(name: str, told: set[str]) -> bool:
    return name in told or any(str(parent) in told for parent in Path(name).parents)


def _files() -> dict[str, str]:
    """A digest of every file here and beside this folder."""
    here = Path.cwd()
    return {
        os.path.relpath(path, here): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in here.parent.rglob("*")
        if path.is_file()
    }
