"""What the times of a series count from."""

from typing import get_args

import numpy as np
from jaxtyping import Float

from lupi.data.series_table import Columns, original_times

CLOCKS = get_args(Columns.model_fields["clock"].annotation)

DAY = 86_400.0


def clock_origins(
    columns: Columns, began: Float[np.ndarray, " series"]
) -> Float[np.ndarray, " series"]:
    """Where the clocks of series that began at these times stand at 0.

    At the first row a clock of the day, the week or the year shows what the clock and the calendar
    on the wall showed, so daylight saving shifts no series against the others. From there on it
    runs evenly: it does not jump where daylight saving changes within a series, as times would then
    come twice. A day is a day also in leap years: after February they are one day ahead.
    """
    if not columns.datetime or columns.clock not in ("day", "week", "year"):
        return began
    return began - since_beginning(columns.clock, wall_clock(columns, began))


def wall_clock(columns: Columns, times: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """Dates as the wall shows them in the timezone of the table, in seconds since 1970 there."""
    if columns.timezone is None:
        return times
    return original_times(columns, times).tz_localize(None).as_unit("us").asi8 / 1e6


def since_beginning(period: str, wall: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """Seconds since the `day` (at midnight), the `week` (on Monday) or the `year` began."""
    days = np.floor(wall / DAY)
    if period == "week":
        days -= (days + 3) % 7  # 1 January 1970 was a Thursday
    elif period == "year":
        years = days.astype("datetime64[D]").astype("datetime64[Y]")
        days = years.astype("datetime64[D]").astype(float)
    return wall - days * DAY
