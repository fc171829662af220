"""Output that nobody reads any more, such as that of `lupi show m.lupi | head -1`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _UntilClosed:
    """A stream that goes on without a word where its reader is gone."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except BrokenPipeError:
            self._give_up()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._give_up()

    def _give_up(self) -> None:
        """What is still to be written, also when Python ends, goes nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


@contextmanager
def silent_when_closed() -> Iterator[None]:
    """Let a command do its work, and end as it does, whether or not its output is read."""
    before = sys.stdout, sys.stderr
    after = [None if stream is None else _UntilClosed(stream) for stream in before]
    sys.stdout, sys.stderr = after  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        for stream in after:
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before
