"""Numbers so far from all others of their column that they may stand for something else."""

from typing import Any

import numpy as np

from lupi.data.problems import shown
from lupi.data.series_table import SeriesTable, original_times

CODES = (-99, 999, -999, 9999, -9999, 99999, -99999, 32767, -32767, -32768)
"""Numbers that many files have where nothing was measured."""

FEWEST = 10
"""Values of a column to judge by."""

FEW, FAR = 0.05, 20.0
"""The largest share of a column that can be outliers, and how many times as far from the median as
any other value they are."""

DROWNING = 1e7
"""The same of numbers that cannot be trained on together: what float32 tells apart."""


def find_outliers(table: SeriesTable) -> list[str]:
    """Each column with such numbers, the first of them and where it is, as a sentence."""
    found = []
    for j, name in enumerate(table.columns.observed):
        limit, numbers = table.columns.limits.get(name), table.values[:, j]
        far = _codes(numbers) | _far(numbers if limit is None else limit.without(numbers))
        if far.any():
            row = int(np.argmax(far))
            time = shown(original_times(table.columns, table.times[row : row + 1])[0])
            label = table.labels[np.searchsorted(table.offsets, row, side="right") - 1]
            where = "" if table.columns.series is None else f" of series {shown(label)}"
            found.append(_sentence(name, numbers, far, f"at the time {time}{where}"))
    for j, name in enumerate(table.columns.privileged):
        numbers = table.privileged[:, j]
        far = _codes(numbers) | _far(numbers)
        if far.any():
            label = table.labels[np.argmax(far)]
            found.append(_sentence(name, numbers, far, f"in series {shown(label)}"))
    return found


def drowning(numbers: np.ndarray) -> float | None:
    """A number beside which all others are nothing: on one scale with it they cannot be told apart,
    and on theirs it is beyond arithmetic. None where there is none."""
    there = numbers[~np.isnan(numbers)]
    if not there.size:
        return None
    distances = np.abs(there - np.median(there))
    # Of the others, or 1 where these are all the same.
    usual = np.sort(distances)[int((1 - FEW) * (there.size - 1))] or 1.0
    farthest = int(np.argmax(distances))
    return float(there[farthest]) if distances[farthest] > DROWNING * usual else None


def _sentence(name: str, numbers: np.ndarray, far: np.ndarray, where: str) -> str:
    others = numbers[~far & ~np.isnan(numbers)]
    count = int(far.sum())
    more = f", the first of {count:,} such" if count > 1 else ""
    return (
        f"{name!r} is {numbers[far][0]:g} {where}{more}, and from {others.min():g} to "
        f"{others.max():g} everywhere else: if that stands for no value, leave the field empty, or "
        "it is learnt from as a number."
    )


def _codes(numbers: np.ndarray) -> Any:
    """Which are such a code, beyond all others by more than these span."""
    codes = np.isin(numbers, CODES)
    others = numbers[~codes & ~np.isnan(numbers)]
    if not codes.any() or others.size < FEWEST:
        return np.zeros(numbers.shape, bool)
    room = np.ptp(others)
    return codes & ((numbers < others.min() - room) | (numbers > others.max() + room))


def _far(numbers: np.ndarray) -> Any:
    """Which are a few, far from the rest."""
    there = numbers[~np.isnan(numbers)]
    nothing = np.zeros(numbers.shape, bool)
    if there.size < FEWEST:
        return nothing
    middle = np.median(there)
    distances = np.sort(np.abs(there - middle))[int((1 - FEW) * (there.size - 1)) :]
    jumps = np.flatnonzero((distances[1:] > FAR * distances[:-1]) & (distances[:-1] > 0))
    if not jumps.size:
        return nothing
    with np.errstate(invalid="ignore"):
        return np.abs(numbers - middle) > distances[jumps[0]]
