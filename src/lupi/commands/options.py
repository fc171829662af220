"""What several commands share: the columns of a table, and how results are shown."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from lupi.errors import UserError

Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]
Json = Annotated[bool, Parameter(name="--json", negative="")]

GOES_ON = "The same command goes on from here."
"""What is said of a command that was stopped and has kept what it did."""


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
    units
        The unit of a column, such as --units.x1 m.
    """

    time: str
    observed: Names
    series: str | None = None
    privileged: Names = ()
    privileged_table: str | None = None
    units: dict[str, str] | None = None

    def as_arguments(self) -> dict[str, Any]:
        """The arguments of `read_series`."""
        return {
            "series": self.series,
            "time": self.time,
            "observed": split_names(self.observed),
            "privileged": split_names(self.privileged),
            "privileged_table": self.privileged_table,
            "units": self.units,
        }


def refuse_overwriting(out: Path, source: str) -> None:
    """Raise if a command would write over what it reads."""
    if out.resolve() == Path(source).resolve():
        raise UserError(f"--out {out} is the file to be read: choose another name.")


def split_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names given one by one or with commas between them."""
    return tuple(name for text in names for name in text.split(",") if name)


def show(result: dict[str, Any], *, as_json: bool) -> None:
    """Print a result: as JSON for programs, as a list for people."""
    if as_json:
        print(json.dumps(result, indent=1, default=str))
        return
    from rich.console import Console

    console = Console()
    for line in _lines(result, ""):
        console.print(line, highlight=False, markup=False)


def _lines(value: dict[str, Any], indent: str):
    for name, item in value.items():
        label = name.replace("_", " ")
        if isinstance(item, dict):
            yield f"{indent}{label}:"
            yield from _lines(item, indent + "  ")
        else:
            yield f"{indent}{label}: {f'{item:.4g}' if isinstance(item, float) else item}"
