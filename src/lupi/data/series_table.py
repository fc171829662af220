"""Many time series of any lengths, in the units of the user."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float64, Int64, Shaped
from pydantic import BaseModel, ConfigDict

from lupi._machinery.notebooks import as_html, first_rows
from lupi.data.known import Known
from lupi.data.limits import Limit
from lupi.data.problems import listed
from lupi.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


class Columns(BaseModel):
    """Which column of a table is what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    series: str | None
    """The column that says which series a row belongs to; None where all rows are one series."""
    time: str
    observed: tuple[str, ...]
    privileged: tuple[str, ...] = ()
    """As columns of numbers: of one of categories a column for each, such as `kind=a`."""
    known: tuple[str, ...] = ()
    """Known of new series too, whatever is observed of them."""
    events: tuple[str, ...] = ()
    """Those of them that are amounts at single times, such as doses, and add up."""
    categories: dict[str, tuple[str, ...]] = {}
    """Of known and privileged columns that hold any."""
    datetime: bool = False
    """Whether the times were dates; they are then held as seconds since 1970, UTC."""
    timezone: str | None = None
    """Of dates that had one; those without are taken for UTC."""
    units: dict[str, str] = {}
    """Of columns, where they were given; for labels only."""
    limits: dict[str, Limit] = {}
    """Of observed columns that cannot be just any number."""
    clock: Literal["run", "day", "week", "year", "common"] = "run"
    """What dates count from: the beginning of the run, or that of its day, its week or its year; or
    one time for all runs. Numbers count as they are."""
    start: str | None = None
    """The column that says when a run began, if that was before its first row."""

    @property
    def privileged_sources(self) -> tuple[str, ...]:
        """The privileged columns as a table has them."""
        of_kinds = {
            f"{name}={kind}": name for name, kinds in self.categories.items() for kind in kinds
        }
        return tuple(dict.fromkeys(of_kinds.get(name, name) for name in self.privileged))

    def in_words(self) -> str:
        """What is what, in a line: `'x', 'y' over 't', privileged 'k'`."""
        parts = [f"{listed(self.observed, most=5)} over {self.time!r}"]
        if self.privileged:
            parts.append(f"privileged {listed(self.privileged_sources, most=5)}")
        if self.known:
            parts.append(f"known {listed(self.known, most=5)}")
        text = ", ".join(parts)
        return text if len(text) <= 200 else f"{text[:197]}..."

    def with_unit(self, name: str) -> str:
        """The name of a column with its unit."""
        return f"{name} [{self.units[name]}]" if name in self.units else name


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """Series of different lengths, one after the other, in original units.

    The rows of series `i` are `offsets[i]` to `offsets[i + 1]`. `read_series` sorts series by their
    label and rows by their time, so that the order of rows in a file never matters.
    """

    columns: Columns
    labels: Shaped[np.ndarray, " series"]
    """Whole numbers, numbers, or text (an array of str objects)."""
    offsets: Int64[np.ndarray, " series+1"]
    times: Float64[np.ndarray, " row"]
    """Increasing within each series; dates are seconds since 1970 UTC, to the microsecond."""
    values: Float64[np.ndarray, "row observed"]
    """NaN is a gap; every row has at least one value."""
    privileged: Float64[np.ndarray, "series privileged"]
    """NaN where it is not known."""
    known: Known | None = None
    """What is known of new series too; none without such columns."""
    starts: Float64[np.ndarray, " series"] | None = None
    """When each series began, where that is not its first row."""
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)
    """How many `rows` and `series` of the source are not here, by the reason."""
    unfit: dict[Any, str] = field(default_factory=dict)
    """Series that were to be forecast and are not here, by label, and why they cannot be."""

    def __len__(self) -> int:
        """How many series there are."""
        return len(self.labels)

    def __repr__(self) -> str:
        rows = f"{len(self.times)} rows of {self.columns.in_words()}"
        return f"<SeriesTable: {len(self)} series, {rows}>"

    def _repr_html_(self) -> str:
        return as_html(self, lambda: first_rows(self.to_dataframe()))

    @property
    def lengths(self) -> Int64[np.ndarray, " series"]:
        """The number of rows of each series."""
        return np.diff(self.offsets)

    @property
    def began(self) -> Float64[np.ndarray, " series"]:
        """When each series began: as is known of it, or with its first row."""
        return self.times[self.offsets[:-1]] if self.starts is None else self.starts

    def __getitem__(self, index: Any) -> "SeriesTable":
        """The series at a slice, an array of indices or booleans, or one index, in that order."""
        chosen = np.atleast_1d(np.arange(len(self))[index])
        lengths = self.lengths[chosen]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return SeriesTable(
            self.columns,
            self.labels[chosen],
            offsets,
            self.times[rows],
            self.values[rows],
            self.privileged[chosen],
            known=None if self.known is None else self.known[chosen],
            starts=None if self.starts is None else self.starts[chosen],
        )

    def rows(self, chosen: Bool[np.ndarray, " row"]) -> "SeriesTable":
        """Some of the rows, of series that began when they did; those without any are left out."""
        series = np.repeat(np.arange(len(self)), self.lengths)
        lengths = np.bincount(series[chosen], minlength=len(self))
        kept = lengths > 0
        return SeriesTable(
            self.columns,
            self.labels[kept],
            np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[kept])]),
            self.times[chosen],
            self.values[chosen],
            self.privileged[kept],
            known=None if self.known is None else self.known[np.flatnonzero(kept)],
            starts=self.began[kept],
        )

    def to_dataframe(self) -> "pd.DataFrame":
        """A pandas table in long format: one row for each time, with its label and dates again."""
        import pandas as pd

        series = np.repeat(np.arange(len(self)), self.lengths)
        frame = {} if self.columns.series is None else {self.columns.series: self.labels[series]}
        frame[self.columns.time] = self.original_times()
        for position, name in enumerate(self.columns.observed):
            frame[name] = self.values[:, position]
        for position, name in enumerate(self.columns.privileged):
            frame[name] = self.privileged[series, position]
        return pd.DataFrame(frame)

    def original_times(self) -> Any:
        """The times as they came: numbers, or a pandas index of dates in their timezone."""
        return original_times(self.columns, self.times)

    def fingerprint(self) -> str:
        """A sha256 of the columns, labels and numbers, whatever order the rows came in."""
        digest = hashlib.sha256(self.columns.model_dump_json().encode())
        digest.update(json.dumps(self.labels.tolist()).encode())
        arrays = [self.offsets, self.times, self.values, self.privileged]
        if self.known is not None:
            arrays += [self.known.offsets, self.known.times, self.known.values]
        for array in arrays if self.starts is None else [*arrays, self.starts]:
            little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
            digest.update(np.ascontiguousarray(little_endian).data)
        return digest.hexdigest()


def check_is_table(series: Any) -> SeriesTable:
    """The series, or an error if they are something else."""
    if not isinstance(series, SeriesTable):
        raise UserError(
            f"expected the series that `read_series` gives, got {type(series).__name__}: read "
            "it with `lupi.read_series` first."
        )
    return series


def original_times(columns: Columns, times: Float64[np.ndarray, " row"]) -> Any:
    """Times of a table as they came: numbers, or a pandas index of dates in their timezone."""
    if not columns.datetime:
        return times
    import pandas as pd

    microseconds = np.round(times * 1e6).astype(np.int64)
    dates = pd.DatetimeIndex(microseconds.view("datetime64[us]"))
    return (
        dates if columns.timezone is None else dates.tz_localize("UTC").tz_convert(columns.timezone)
    )
