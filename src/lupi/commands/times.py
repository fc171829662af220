"""Times as they are written on the command line."""

import math
from typing import Any

import numpy as np

from lupi.errors import UserError, check_whole

MOST_TIMES = 10_000_000
"""Between a first and a last."""


def read_times(text: str | None) -> Any:
    """A list with commas, or `first:last:number` at equal distances; numbers or dates.

    Dates have colons too: the number is behind the last one, and the dates are on both sides of the
    only other one that has a date on either side.
    """
    if text is None:
        return None
    span, _, number = text.rpartition(":")
    if number.strip().isdecimal():
        colons = [place for place, letter in enumerate(span) if letter == ":"]
        for first, last in ((span[:place], span[place + 1 :]) for place in colons):
            ends = _ends(first.strip(), last.strip())
            if ends is not None:
                return _between(ends[0], ends[1], number.strip())
    times = text.split(",")
    try:
        return [float(time) for time in times]
    except ValueError:
        return times


def _ends(first: str, last: str) -> Any:
    """The first time and the last, or nothing if these are not times."""
    import pandas as pd

    try:
        return float(first), float(last)
    except ValueError:
        pass
    try:
        dates = [pd.to_datetime(end, format="ISO8601") for end in (first, last)]
    except (ValueError, TypeError):
        return None
    zoned = [date.tzinfo is not None for date in dates]
    if any(zoned) and not all(zoned):
        raise UserError(
            f"--times first:last:number: expected two dates with an offset from UTC, or two "
            f"without, got {first} and {last}."
        )
    # In UTC: before and after the clocks change they have different offsets.
    return [date.tz_convert("UTC") for date in dates] if all(zoned) else dates


def _between(first: Any, last: Any, number: str) -> Any:
    """So many times from the first to the last."""
    import pandas as pd

    count = check_whole(
        "--times first:last:number: the number",
        int(number) if len(number) < 20 else number,
        least=1,
        most=MOST_TIMES,
    )
    if isinstance(first, pd.Timestamp):
        return pd.date_range(first, last, periods=count)
    if not (math.isfinite(first) and math.isfinite(last)):
        raise UserError(f"--times must be finite numbers, got {first} and {last}.")
    return np.linspace(first, last, count)
