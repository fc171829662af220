"""NetCDF files as Datasets, whatever their calendar and with what they mean by nothing."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

FILLS = {
    "f4": 9.969209968386869e36,
    "f8": 9.969209968386869e36,
    "i2": -32767,
    "i4": -2147483647,
    "i8": -9223372036854775806,
    "u2": 65535,
    "u4": 4294967295,
    "u8": 18446744073709551614,
}
"""What libraries of NetCDF write where nothing was written, unless a file says another number."""

CALENDARS = ("standard", "gregorian", "proleptic_gregorian")
"""Of dates as they are everywhere else."""


class CalendarError(Exception):
    """Why dates of another calendar cannot be read."""


def open_netcdf(path: Path, engine: str, wanted: Sequence[str] = ()) -> Any:
    """The Dataset of a file; `wanted` variables will be read, so that gaps are looked for in them.

    Dates of other calendars become those of the usual one: of the same name where all of them exist
    there (a calendar without leap years), or else at the same part of the year (360 days).
    """
    import xarray as xr

    raw = xr.open_dataset(path, engine=engine, decode_cf=False)  # pyright: ignore[reportArgumentType]
    for name in wanted:
        if name in raw.variables:
            _say_what_is_nothing(raw[name])
    others = [str(name) for name in raw.variables if _calendar(raw[name]) not in CALENDARS]
    if not others:
        return xr.decode_cf(raw, decode_timedelta=False)
    if find_spec("cftime") is None:
        raise CalendarError(
            f"the times {others[0]!r} are dates of the calendar {_calendar(raw[others[0]])!r}, "
            "which `cftime` reads: install it (pip install cftime), or save the times as numbers."
        )
    decoded = xr.decode_cf(raw, decode_timedelta=False)
    return decoded.assign_coords({name: _usual(decoded[name]) for name in others})


def _say_what_is_nothing(variable: Any) -> None:
    """Let the default fill value be one, where the file says none and has any."""
    said = {"_FillValue", "missing_value"} & set(variable.attrs)
    fill = FILLS.get(variable.dtype.newbyteorder("=").str[1:])
    # Whole numbers stay what they are where nothing is missing.
    if fill is not None and not said and (variable.values == variable.dtype.type(fill)).any():
        variable.attrs["_FillValue"] = variable.dtype.type(fill)


def _calendar(variable: Any) -> str:
    """Of a variable of dates; that of all others is the usual one."""
    is_date = " since " in str(variable.attrs.get("units", ""))
    return str(variable.attrs.get("calendar", "standard")).lower() if is_date else "standard"


def _usual(variable: Any) -> Any:
    """Dates of another calendar as those of the usual one."""
    dates, missing = variable.values.ravel(), variable.isnull().values.ravel()
    try:
        found = [
            None if no else _of_same_name(date) for date, no in zip(dates, missing, strict=True)
        ]
    except ValueError:  # such as 30 February
        found = [
            None if no else _of_same_part(date) for date, no in zip(dates, missing, strict=True)
        ]
    return variable.dims, np.array(found, "datetime64[us]").reshape(variable.shape)


def _of_same_name(date: Any) -> np.datetime64:
    return np.datetime64(date.isoformat(timespec="microseconds"), "us")


def _of_same_part(date: Any) -> np.datetime64:
    """As far through the year of the usual calendar as the date is through its own."""
    begin, end = (
        date.replace(year=date.year + i, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
        for i in (0, 1)
    )
    share = (date - begin) / (end - begin)
    first, last = (np.datetime64(f"{date.year + i:04d}-01-01", "us") for i in (0, 1))
    return first + np.timedelta64(round(share * (last - first).astype(int)), "us")
