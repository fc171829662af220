"""What several commands share: the columns of a table, and how results are shown."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from lupi.errors import UserError, printable


def _whole(_kind: type, tokens: Any) -> int:
    """A whole number; cyclopts would round."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"expected a whole number, got {text!r:.40}.") from None


Whole = Annotated[int, Parameter(converter=_whole)]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]
Json = Annotated[bool, Parameter(name="--json", negative="")]

GOES_ON = "The same command goes on from here."
NOTHING_SAVED = "Nothing was saved yet."
"""What is said of a command that was stopped, and has kept what it did or has not."""


@Parameter(name="*")
@dataclass(frozen=True)
class ColumnOptions:
    """The columns of a table in long format.

    Parameters
    ----------
    time
        The column of times: numbers or dates.
    observed
        The columns that are observed, also of new runs.
    series
        The column that says which run a row belongs to. Without it all rows are one run.
    privileged
        The columns known of past runs only.
    privileged_table
        A second file with the privileged columns, one row for each run.
    known
        The columns known of new runs too, such as a dose or a temperature that is set: one value
        for a run, or a course.
    events
        Known columns of amounts at single times, such as doses, which add up.
    categories
        Known and privileged columns of numbers that stand for kinds; columns of text always do.
    positive
        The observed columns that are 0 or more, counts too.
    limits
        What values of an observed column lie between, such as --limits.share 0:1, or 0: for a
        lower limit only.
    units
        The unit of a column, such as --units.x1 m.
    clock
        What dates count from: the beginning of each run, of its day, its week or its year, or one
        time common to all runs.
    start
        The column that says when a run with dates began, if that was before its first row.
    window
        Cut each series into runs of this length: a number in the unit of the time column; for dates
        7D, 24h and the like, or MS or YS for months or years. Runs of one row are learnt from too.
    """

    time: str
    observed: Names
    series: str | None = None
    privileged: Names = ()
    privileged_table: str | None = None
    known: Names = ()
    events: Names = ()
    categories: Names = ()
    positive: Names = ()
    limits: dict[str, str] | None = None
    units: dict[str, str] | None = None
    clock: Literal["run", "day", "week", "year", "common"] = "run"
    start: str | None = None
    window: str | None = None

    def as_arguments(self) -> dict[str, Any]:
        """The arguments of `read_series`."""
        return {
            "series": self.series,
            "time": self.time,
            "observed": split_names(self.observed),
            "privileged": split_names(self.privileged),
            "privileged_table": self.privileged_table,
            "known": split_names(self.known),
            "events": split_names(self.events),
            "categories": split_names(self.categories),
            "positive": split_names(self.positive),
            "limits": {name: _ends(name, text) for name, text in (self.limits or {}).items()},
            "units": self.units,
            "clock": self.clock,
            "start": self.start,
            "window": self.window,
        }


def _ends(name: str, text: str) -> tuple[float | None, float | None]:
    """A lower and an upper limit, with a colon between them; one may be left out."""
    try:
        lower, upper = (float(end) if end else None for end in text.split(":"))
    except ValueError:
        raise UserError(
            f"--limits.{name}: expected two numbers with a colon between them, such as 0:1 or 0:, "
            f"got {text!r}."
        ) from None
    return lower, upper


def split_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names given one by one or with commas between them."""
    return tuple(name for text in names for name in text.split(",") if name)


def show(result: dict[str, Any], *, as_json: bool) -> None:
    """Print a result: as JSON for programs, as a list for people."""
    if as_json:
        print(json.dumps(result, indent=1, default=str))
        return
    # Not by rich, which takes a hundred times as long to find out that nothing is to be coloured.
    for line in _lines(result, ""):
        print(printable(line))


def _lines(value: dict[str, Any], indent: str):
    for name, item in value.items():
        label = name.replace("_", " ")
        if isinstance(item, dict):
            yield f"{indent}{label}:"
            yield from _lines(item, indent + "  ")
        else:
            yield f"{indent}{label}: {f'{item:.4g}' if isinstance(item, float) else item}"
