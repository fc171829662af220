"""What is wrong with a table of a user's, said so that they can mend it."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from lupi.errors import UserError


class Problem(NamedTuple):
    """One kind of mistake in one place: where it is first met, and what to do about it.

    `row` counts rows of data from 1: the header and blank lines are not counted. In a NetCDF file
    or a Dataset it counts the rows of the table that its dimensions unfold to.
    """

    file: str | None
    column: str | None
    series: str | None
    row: int | None
    message: str
    """What was expected, what arrived, what to do."""

    def __str__(self) -> str:
        """The place and the message, as one text."""
        where = [
            self.file,
            None if self.column is None else f"column {self.column!r}",
            None if self.series is None else f"series {self.series!r}",
            None if self.row is None else f"row {self.row}",
        ]
        place = ", ".join(part for part in where if part is not None)
        return f"{place}: {self.message}" if place else self.message


class Problems:
    """The problems found in one table so far; finding one does not stop the search."""

    def __init__(self, file: str | None = None):
        self.file = file
        self.found: list[Problem] = []
        self.series_at: Callable[[int], str | None] = lambda row: None
        """The series of a row, counted from 0, as soon as that is known."""

    def add(
        self,
        message: str,
        *,
        column: str | None = None,
        series: str | None = None,
        row: int | None = None,
    ) -> None:
        """One problem; `row` counts from 1."""
        self.found.append(Problem(self.file, column, series, row, message))

    def add_rows(
        self, column: str, bad: Bool[np.ndarray, " row"], values: Any, expected: str, advice: str
    ) -> None:
        """One problem for all the rows at which `bad` is true, if any: the first, and how many."""
        count = int(np.count_nonzero(bad))
        if count == 0:
            return
        first = int(np.argmax(bad))
        others = f" (the first of {count:,} such rows)" if count > 1 else ""
        self.add(
            f"expected {expected}, got {shown(values[first])}{others}: {advice}.",
            column=column,
            series=self.series_at(first),
            row=first + 1,
        )


def raise_problems(problems: list[Problem]) -> None:
    """Raise the first problem as the user's error, and say how many there are besides."""
    if not problems:
        return
    more = len(problems) - 1
    rest = ""
    if more:
        rest = f" There {'is 1 more problem' if more == 1 else f'are {more} more problems'}: "
        rest += "`lupi check` lists them all."
    raise UserError(f"{problems[0]}{rest}")


def shown(value: Any) -> str:
    """A value as a message shows it: text in quotes, nothing longer than a few words."""
    if value is None or value is np.ma.masked or (isinstance(value, float) and np.isnan(value)):
        return "nothing"
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value) if isinstance(value, str) else str(value)
    if text in ("NaT", "<NA>"):
        return "nothing"
    return text if len(text) <= 60 else f"{text[:57]}..."


def listed(names: Iterable[str], *, most: int = 20) -> str:
    """Names in quotes, with commas; of very many only the first."""
    names = [repr(str(name)) for name in names]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + rest) or "none"
