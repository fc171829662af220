"""How far training is, on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def show_waiting(what: str) -> Iterator[None]:
    """Something that moves, and says what is waited for, on the error stream."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def show_epochs(epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that shows an epoch's row on the error stream; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda row: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn

    columns = (
        TextColumn("Training"),
        BarColumn(),
        TextColumn("epoch {task.completed} of {task.total}, validation loss {task.fields[loss]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeLeftColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        bar = display.add_task("", total=epochs, loss="")

        def show(row: dict[str, Any]) -> None:
            display.update(bar, completed=row["epoch"])
            if "validation_loss" in row:
                display.update(bar, loss=f"{row['validation_loss']:.2f}")

        yield show
