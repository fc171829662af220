"""What may be worth trying with a table; nothing in it is wrong."""

import numpy as np

from lupi.data.clocks import DAY, since_beginning, wall_clock
from lupi.data.outliers import find_outliers
from lupi.data.series_table import SeriesTable

FEW_SERIES = 3
LONG = 300
"""Rows of a series that may be better as several."""

ENOUGH_RUNS, ENOUGH_ROWS = 10, 10
"""That a window should make, and have."""

TOGETHER = 0.8
"""The length of the mean of beginnings as points on a circle of radius 1, from which on they are
at one phase. Below, they scatter by more than 39 days of a year, or two and a half hours of a day.
"""

PERIODS = {"year": (365.25 * DAY, 30 * DAY), "day": (DAY, DAY / 4)}
"""The length of each, and the length of runs and the distance of rows that matter to it."""


def suggest(table: SeriesTable, *, positive: bool = True) -> list[str]:
    """Advice on outliers, windows, clocks and, unless others find them, on `positive` columns, each
    as a sentence."""
    others = (_window(table), *_clocks(table), *(_positive(table) if positive else ()))
    return [*find_outliers(table), *(found for found in others if found)]


def _positive(table: SeriesTable) -> list[str]:
    """To say that a column is positive, where none of it is below 0 and logarithms are far more
    even."""
    found = []
    for name, column in zip(table.columns.observed, table.values.T, strict=True):
        values = column[~np.isnan(column)]
        if name in table.columns.limits or values.size < ENOUGH_ROWS or values.min() < 0:
            continue
        skewed, in_logs = (_skewness(some) for some in (values, np.log(values[values > 0])))
        if skewed > 1 and abs(in_logs) < skewed / 2:
            found.append(
                f"no value of {name!r} is below 0 and most are small beside the largest: if it "
                f"cannot be negative, --positive {name} keeps forecasts from being so."
            )
    return found


def _skewness(values: np.ndarray) -> float:
    apart = values - values.mean()
    return float((apart**3).mean() / max((apart**2).mean() ** 1.5, 1e-300))


def _window(table: SeriesTable) -> str | None:
    """To cut, where there are few series, all of many rows."""
    if len(table) > FEW_SERIES or table.lengths.min(initial=LONG) < LONG:
        return None
    number = "one series" if len(table) == 1 else f"{len(table)} series"
    example = _example(table)
    return (
        f"there {'is' if len(table) == 1 else 'are'} {number} of {table.lengths.min():,} rows or "
        "more: a forecaster learns from many runs, and --window cuts a long record into such"
        f"{f', for example --window {example}' if example else ''}. Choose the time over which "
        "something happens again: a day, a season, a cycle."
    )


def _example(table: SeriesTable) -> str | None:
    """A window that gives enough runs of enough rows; a natural one for dates."""
    rows = int(table.lengths.sum())
    ends = table.offsets[1:] - 1
    spans = table.times[ends] - table.times[table.offsets[:-1]]
    if not table.columns.datetime:
        return f"{float(f'{spans.sum() / (3 * ENOUGH_RUNS):.0e}'):g}"
    for days, name in ((365.25, "YS"), (30.4, "MS"), (7, "7D"), (1, "1D"), (1 / 24, "1h")):
        runs = spans.sum() / (days * DAY)
        if runs >= ENOUGH_RUNS and rows / runs >= ENOUGH_ROWS:
            return name
    return None


def _clocks(table: SeriesTable) -> list[str]:
    """A clock of the year or the day, where runs with dates begin at different phases of it.

    It can matter only where runs last for a while (a month, six hours) and their rows are as close
    as that; where all begin at about the same phase, they are laid over each other rightly anyway.
    """
    if not table.columns.datetime or table.columns.clock != "run" or len(table) < 2:
        return []
    ends = table.offsets[1:] - 1
    spans = table.times[ends] - table.times[table.offsets[:-1]]
    distance = np.median(spans / np.maximum(table.lengths - 1, 1))
    wall = wall_clock(table.columns, table.began)
    found = []
    for name, (length, matters) in PERIODS.items():
        angle = 2 * np.pi * since_beginning(name, wall) / length
        together = abs(np.exp(1j * angle).mean()) >= TOGETHER
        if not together and np.median(spans) >= matters and distance <= matters:
            found.append(
                f"runs begin at different times of the {name}, and dates count from the beginning "
                f"of each run: if the time of the {name} matters to what is observed, --clock "
                f"{name} counts from the beginning of the {name}."
            )
    return found
