"""One long record as many runs."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int

from lupi.data.clocks import DAY, since_beginning, wall_clock
from lupi.data.known import Known, expanded_names
from lupi.data.problems import Problems
from lupi.data.series_table import Columns, SeriesTable

SECONDS = {"W": 7 * DAY, "D": DAY, "d": DAY, "h": 3600.0, "min": 60.0, "s": 1.0}
CALENDAR = ("MS", "QS", "YS")
"""Units of windows of dates, as pandas calls them."""

ROUNDING = 1e-9
"""Of a window: a time this little before its beginning is at its beginning."""


def cut(
    table: SeriesTable, window: int | float | str, min_points: int, problems: Problems
) -> SeriesTable | None:
    """Each series as consecutive runs of the length `window`.

    `window` is a number in the unit of the time column, or of dates a text such as 7D or 24h; MS,
    QS and YS are months, quarters and years of the calendar. Windows begin at whole multiples of
    their length, so that records of other places or years are cut at the same phase: numbers from
    0, dates from midnight of the first row as the wall shows it, or from its Monday or 1 January
    where that is their clock. Numbers then count from the beginning of their window. Runs are
    labelled by their number, behind that of their series if it has one. Those with fewer than
    `min_points` rows are left out; None if all are.
    """
    columns = table.columns
    length = _length(window, columns)
    if isinstance(length, str):
        problems.add(f"expected a window {length}, got {window!r}.")
        return None
    numbers, times = (_cut_dates if columns.datetime else _cut_numbers)(table, length)
    series = np.repeat(np.arange(len(table)), table.lengths)
    # Where daylight saving ends the wall shows an hour twice: no run goes on after another began.
    apart = np.ptp(numbers) + 1
    numbers = np.maximum.accumulate(numbers - numbers.min() + series * apart)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    lengths = np.diff(np.append(begins, len(numbers)))
    kept = lengths >= min_points
    if not kept.any():
        problems.add(
            f"expected windows with at least {min_points} rows, got at most {lengths.max()} in "
            f"{window!r}: give a longer window."
        )
        return None
    runs, rows = series[begins], np.repeat(kept, lengths)
    which = (numbers - numbers[table.offsets[:-1]][series])[begins]
    named = columns.series is not None
    labels = [
        f"{table.labels[i]}/{n}" if named else str(n) for i, n in zip(runs, which, strict=True)
    ]
    return replace(
        table,
        columns=columns if named else columns.model_copy(update={"series": _new_name(columns)}),
        labels=np.array(labels, object)[kept],
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[kept])]),
        times=times[rows],
        values=table.values[rows],
        privileged=table.privileged[runs[kept]],
        known=_cut_known(table, times, runs[kept], begins[kept], lengths[kept]),
        left_out=_with_short(table.left_out, lengths[~kept], min_points),
    )


def _cut_known(table: SeriesTable, times, runs, begins, lengths) -> Known | None:
    """What is known of each run: its part of the path of its series, by its own clock."""
    if table.known is None:
        return None
    names = expanded_names(table.columns.known, table.columns.categories)
    summed = np.array([name in table.columns.events for name in names])
    paths = []
    for i, begin, length in zip(runs.tolist(), begins.tolist(), lengths.tolist(), strict=True):
        first, last = table.times[[begin, begin + length - 1]]
        path = table.known.path(i).between(first, last, summed)
        paths.append(path._replace(times=path.times + times[begin] - first))
    return Known.joined(paths, len(names), varies=table.known.varies)


def _length(window: int | float | str, columns: Columns) -> Any:
    """A number, in seconds for dates, or a step of the calendar; or, as text, what was expected."""
    try:
        number = float(window)
    except (TypeError, ValueError):
        number = None
    if not columns.datetime:
        fits = number is not None and 0 < number < np.inf
        return number if fits else "that is a number above 0, in the unit of the time column"
    if number is None:
        found = _duration(str(window).strip())
        if found is not None:
            return found
    return (
        "of dates with a unit, such as 7D, 24h or 30min, or MS, QS or YS for months, quarters or "
        "years of the calendar"
    )


def _duration(text: str) -> Any:
    from pandas.tseries.frequencies import to_offset

    found = re.fullmatch(r"(\d*\.?\d*) ?([A-Za-z]+)", text)
    number, unit = found.groups() if found else ("", "")
    if unit in SECONDS and number != ".":
        return float(number or 1) * SECONDS[unit] or None
    if unit in CALENDAR and (number or "1").strip("0").isdecimal():
        return to_offset(text)
    return None


def _cut_numbers(table: SeriesTable, length: float) -> tuple[Int[np.ndarray, " row"], np.ndarray]:
    numbers = np.floor(table.times / length + ROUNDING)
    return numbers.astype(np.int64), np.maximum(table.times - numbers * length, 0.0)


def _cut_dates(table: SeriesTable, length: Any) -> tuple[Int[np.ndarray, " row"], np.ndarray]:
    import pandas as pd

    wall = wall_clock(table.columns, table.times)
    if not isinstance(length, float):
        first, last = pd.to_datetime([wall.min(), wall.max()], unit="s")
        edges = pd.date_range(length.rollback(first.normalize()), last, freq=length)
        seconds = edges.as_unit("us").asi8 / 1e6
        return np.searchsorted(seconds, wall, side="right") - 1, table.times
    clock = table.columns.clock
    period = clock if clock in ("week", "year") else "day"
    first = wall[table.offsets[:-1]]
    origins = np.repeat(first - since_beginning(period, first), table.lengths)
    return np.floor((wall - origins) / length + ROUNDING).astype(np.int64), table.times


def _new_name(columns: Columns) -> str:
    """Of the column that names the runs, where the table had none."""
    # Not `window`: a new table with a column `wind` might have misspelt it.
    taken = {columns.time, *columns.observed, *columns.privileged, *columns.known}
    name = "window_number"
    while name in taken:
        name += "_"
    return name


def _with_short(
    left_out: dict[str, dict[str, int]], lengths: np.ndarray, min_points: int
) -> dict[str, dict[str, int]]:
    if not lengths.size:
        return left_out
    reason = f"in windows with fewer than {min_points} rows"
    rows = left_out.get("rows", {}) | {reason: int(lengths.sum())}
    series = left_out.get("series", {}) | {reason.removeprefix("in "): len(lengths)}
    return {"rows": rows, "series": series}
