"""How far training is: a bar on a terminal, and a line now and then where there is none."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS_BETWEEN_LINES = 15.0

COMPILING = "Compiling the first step"


@contextmanager
def show_waiting(what: str) -> Iterator[None]:
    """Something that moves, and says what is waited for, on the error stream."""
    if not sys.stderr.isatty():
        say(what)
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def show_epochs(epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that shows an epoch's row on the error stream.

    Until the first epoch is there it says that training is being compiled: that may take longer
    than many epochs.
    """
    if not sys.stderr.isatty():
        yield epochs_as_lines(epochs, say)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeLeftColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        bar = display.add_task(COMPILING, total=None, told="")
        told = Told(epochs)

        def show(row: dict[str, Any]) -> None:
            if told.epoch is None:
                display.reset(bar, total=epochs, description="Training")
            display.update(bar, completed=row["epoch"], told=told.of(row))

        yield show


class Told:
    """What is said of each epoch."""

    def __init__(self, epochs: int):
        self.epochs, self.epoch, self.loss = epochs, None, None

    def of(self, row: dict[str, Any]) -> str:
        """The epoch and, once there is one, the last validation loss."""
        self.epoch, self.loss = row["epoch"], row.get("validation_loss", self.loss)
        loss = "" if self.loss is None else f", validation loss {self.loss:.2f}"
        return f"epoch {self.epoch} of {self.epochs}{loss}"


def epochs_as_lines(
    epochs: int, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[dict[str, Any]], None]:
    """A function that says an epoch's row as a line: of the first, then rarely, and of the last."""
    say(COMPILING)
    told, first, said = Told(epochs), None, 0.0

    def show(row: dict[str, Any]) -> None:
        nonlocal first, said
        now, text = clock(), told.of(row)
        epoch = row["epoch"]
        if first is None:
            first, said = (epoch, now), now
            say(f"Training: {text}")
        elif now - said >= SECONDS_BETWEEN_LINES or epoch == epochs:
            left = (now - first[1]) / (epoch - first[0]) * (epochs - epoch)
            said = now
            say(f"Training: {text}" + (f", at most {_span(left)} left" if epoch < epochs else ""))

    return show


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def say(text: str) -> None:
    """A line on the error stream."""
    print(f"lupi: {text}", file=sys.stderr, flush=True)
