"""Times as they are written on the command line."""

from typing import Any

import numpy as np


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
            times = _between(first.strip(), last.strip(), int(number))
            if times is not None:
                return times
    times = text.split(",")
    try:
        return [float(time) for time in times]
    except ValueError:
        return times


def _between(first: str, last: str, number: int) -> Any:
    """So many times from the first to the last, or nothing if these are not times."""
    import pandas as pd

    try:
        return np.linspace(float(first), float(last), number)
    except ValueError:
        pass
    try:
        dates = [pd.to_datetime(end, format="ISO8601") for end in (first, last)]
        return pd.date_range(*dates, periods=number)
    except (ValueError, TypeError, AssertionError):  # no dates, or of two timezones
        return None
