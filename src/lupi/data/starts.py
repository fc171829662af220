"""When each series began, from a column that says it."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float64

from lupi.data.parsing import Labels, Times, parse_times
from lupi.data.problems import Problems, shown
from lupi.data.series_table import Columns, SeriesTable, original_times


def with_starts(
    table: SeriesTable, frame: Any, labels: Labels, problems: Problems, *, training: bool
) -> SeriesTable:
    """The table with what its start column says; series without a start begin with their first row.

    In training every start must be right; of new series the wrong ones are refused one by one.
    """
    name = table.columns.start
    if name is None:
        return table
    if not table.columns.datetime:
        problems.add(
            "expected dates with a start column, got times that are numbers, which are one clock "
            "for all series: subtract the start from the times, and leave it out.",
            column=name,
        )
        return table
    times = parse_times(frame[name])
    for complaint in times.complaints:
        problems.add_rows(
            name, complaint.rows, frame[name].array, complaint.expected, complaint.advice
        )
    if not times.datetime and not np.isnan(times.values).all():
        problems.add(
            "expected dates, as in the time column, got numbers: write dates.", column=name
        )
        return table
    known = _one_for_each(in_timezone(times, table.columns), frame[name], labels, problems)
    places = {label: place for place, label in enumerate(labels.labels.tolist())}
    starts = known[[places[label] for label in table.labels.tolist()]]
    first = table.began
    late = starts > first
    if late.any() and training:
        place = int(np.argmax(late))
        start, seen = original_times(table.columns, np.array([starts[place], first[place]]))
        problems.add(
            f"expected a start at or before the first observation, at {seen}, got {start}: correct "
            "it, or remove the rows before.",
            column=name,
            series=str(table.labels[place]),
        )
    return replace(table, starts=np.where(np.isnan(starts), first, starts))


def _one_for_each(
    values: Float64[np.ndarray, " row"], column: Any, labels: Labels, problems: Problems
) -> Float64[np.ndarray, " series"]:
    """The start of each series, NaN where no row says one."""
    rows = np.flatnonzero(~np.isnan(values) & (labels.codes >= 0))
    earliest, latest = (np.full(len(labels.labels), sign * np.inf) for sign in (1, -1))
    np.minimum.at(earliest, labels.codes[rows], values[rows])
    np.maximum.at(latest, labels.codes[rows], values[rows])
    changes = np.flatnonzero(latest > earliest)
    if changes.size:
        first, *others = rows[labels.codes[rows] == changes[0]]
        other = next(row for row in others if values[row] != values[first])
        problems.add(
            f"expected one start for the whole series, got {shown(column.iloc[first])} in row "
            f"{first + 1} and {shown(column.iloc[other])} here: correct it.",
            column=str(column.name),
            series=problems.series_at(int(other)),
            row=int(other) + 1,
        )
    return np.where(np.isinf(earliest), np.nan, earliest)


def in_timezone(times: Times, columns: Columns) -> Float64[np.ndarray, " row"]:
    """Dates as a table holds them; those without a timezone are in the table's."""
    import pandas as pd

    if not times.datetime or columns.timezone is None or times.timezone is not None:
        return times.values
    # Where daylight saving ends an hour comes twice, and the first is meant; where it begins an
    # hour does not exist, and what follows is.
    twice, there = np.ones(len(times.values), bool), ~np.isnan(times.values)
    local = pd.to_datetime(times.values, unit="s").tz_localize(
        columns.timezone, ambiguous=twice, nonexistent="shift_forward"
    )
    return np.where(there, local.as_unit("us").asi8 / 1e6, np.nan)
