"""From a column as it comes to labels, numbers or times; what is none of these is pointed out."""

import math
import re
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from jaxtyping import Bool, Float64, Int64, Shaped

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "NaT", "#N/A")
"""Texts that stand for no value, in columns of numbers and of times."""

LARGEST_EXACT = 2**53
"""From there on, whole numbers that differ can be the same as floating-point numbers."""

LARGEST = 1e100
"""Of numbers: squares and cubes of differences between them are numbers still."""


class Complaint(NamedTuple):
    """Rows of a column that hold what they should not."""

    rows: Bool[np.ndarray, " row"]
    expected: str
    advice: str


class Numbers(NamedTuple):
    """A column as numbers: NaN where there is none, and where there is something else."""

    values: Float64[np.ndarray, " row"]
    complaints: list[Complaint]


class Times(NamedTuple):
    """A column as times: numbers as they are, dates as seconds since 1970 UTC."""

    values: Float64[np.ndarray, " row"]
    complaints: list[Complaint]
    datetime: bool = False
    timezone: str | None = None


class Labels(NamedTuple):
    """A column as labels: the distinct ones in order, and the position of each row's among them."""

    labels: Shaped[np.ndarray, " series"]
    codes: Int64[np.ndarray, " row"]
    """-1 where there is none."""
    complaints: list[Complaint]


def parse_labels(column: Any) -> Labels:
    """Whole numbers and numbers stay what they are, text too; anything else becomes text, as do
    whole numbers beyond 64 bits."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, found = column.cat.codes.to_numpy(), column.cat.categories
    else:
        codes, found = pd.factorize(column)
    found: Any = pd.Index(found)
    kind = pd.api.types.infer_dtype(found)
    complaints = []
    whole = _whole_kind(found) if kind == "integer" else None
    if whole is not None:
        labels = found.to_numpy(whole)
    elif kind == "floating":
        labels = found.to_numpy(np.float64)
    else:
        labels = text_of(found).to_numpy(object)
        if kind.startswith("mixed"):
            # 1 and '1' would become one series.
            odd = np.array([type(label) is not type(found[0]) for label in found])
            complaints.append(
                Complaint(
                    np.append(odd, False)[codes],
                    f"labels of one kind, {type(found[0]).__name__} as in the first row",
                    "write all labels as text, or all as numbers",
                )
            )
    order = np.argsort(labels, kind="stable")
    named = np.bincount(codes[codes >= 0], minlength=len(labels)) > 0
    if labels.dtype == object:
        named &= (pd.Series(labels, dtype=str).str.strip() != "").to_numpy(bool)
    order = order[named[order]]
    # One more place at the end, for the code -1.
    position = np.full(len(labels) + 1, -1, np.int64)
    position[order] = np.arange(len(order))
    return Labels(labels[order], position[codes], complaints)


def _whole_kind(found: Any) -> type[np.int64] | type[np.uint64] | None:
    """The kind of whole number that holds all of these, if there is one."""
    for kind in (np.int64, np.uint64):
        limits = np.iinfo(kind)
        if len(found) == 0 or (limits.min <= found.min() and found.max() <= limits.max):
            return kind
    return None


def parse_numbers(column: Any) -> Numbers:
    """Numbers, or text that reads as numbers; not booleans, complex numbers or dates."""
    import pandas as pd

    column = _plain(column)
    dtype = column.dtype
    kinds = pd.api.types
    if kinds.is_bool_dtype(dtype) or kinds.is_complex_dtype(dtype):
        what = "write 0 and 1" if kinds.is_bool_dtype(dtype) else "give its parts as two columns"
        return _nothing(column, "a number", what)
    if kinds.is_datetime64_any_dtype(dtype) or kinds.is_timedelta64_dtype(dtype):
        return _nothing(column, "a number", "dates and durations can only be the time column")
    if kinds.is_numeric_dtype(dtype):
        with np.errstate(over="ignore"):  # of longer numbers than 64 bits
            return _finite(column.to_numpy(np.float64, na_value=np.nan))
    values, bad = _numbers_in_text(column)
    complaint = Complaint(
        bad, "a number", "correct it, with a point for decimals, or leave the field empty"
    )
    finite = _finite(values)
    return Numbers(finite.values, [complaint, *finite.complaints])


def parse_times(column: Any, *, zones: bool = False) -> Times:
    """Numbers, dates, durations (in seconds), or text that reads as numbers or as ISO dates.

    `zones` takes text with several offsets from UTC, as before and after the clocks change; the
    timezone is then that of the first.
    """
    import pandas as pd

    original, column = column, _plain(column)
    dtype = column.dtype
    if pd.api.types.is_timedelta64_dtype(dtype):
        return Times(column.dt.total_seconds().to_numpy(np.float64), [])
    if pd.api.types.is_datetime64_any_dtype(dtype):
        zone = getattr(column.dt, "tz", None)
        dates = column if zone is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
        return Times(_seconds(dates), [], True, None if zone is None else _zone_name(zone))
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
        numbers = parse_numbers(column)
        return Times(numbers.values, [*numbers.complaints, *_inexact(original, numbers.values)])
    return _times_in_text(column, zones)


def _times_in_text(column: Any, several_zones: bool) -> Times:
    import pandas as pd

    there = column.notna()
    if there.any() and _is_number(column[there].iloc[0]):
        numbers, not_numbers = _numbers_in_text(column)
        if not not_numbers.any():
            finite = _finite(numbers)
            return Times(finite.values, [*finite.complaints, *_inexact(column, finite.values)])
    text, there = _present_text(column)
    dates = pd.to_datetime(text, format="ISO8601", utc=True, errors="coerce")
    not_dates = there & dates.isna().to_numpy()
    if not_dates.any():
        numbers, not_numbers = _numbers_in_text(column)
        if not_numbers.sum() <= not_dates.sum():
            expected = "a number or a date" if not_numbers.sum() == there.sum() else "a number"
            advice = "correct it; dates are written as 2024-01-31 or 2024-01-31T12:00:00"
            finite = _finite(numbers)
            complaint = Complaint(not_numbers, expected, advice)
            return Times(finite.values, [complaint, *finite.complaints])
    readable = dates.notna().to_numpy()
    if not readable.any():
        return Times(np.full(len(column), np.nan), [])
    zones = _offsets(text)
    first = zones[readable].iloc[0]
    other = readable & (zones != first).to_numpy()
    if several_zones:
        other &= ((zones == "") != (first == "")).to_numpy()
    named = f"the offset {first} of the first row" if first else "no timezone, as the first row"
    complaints = [
        Complaint(not_dates, "a date such as 2024-01-31 or 2024-01-31T12:00:00", "correct it"),
        Complaint(other, f"dates of one timezone ({named})", "write all of them in UTC"),
    ]
    timezone = None
    if first:
        digits = first[1:].ljust(4, "0")
        timezone = "UTC" if digits == "0000" else f"UTC{first[0]}{digits[:2]}:{digits[2:]}"
    return Times(_seconds(dates.dt.tz_localize(None)), complaints, True, timezone)


def _inexact(column: Any, values: Float64[np.ndarray, " row"]) -> list[Complaint]:
    """Where whole numbers are too large to be told apart, whatever type or text they came as."""
    import pandas as pd

    large = np.abs(values) >= LARGEST_EXACT
    if not large.any() or pd.api.types.is_float_dtype(column.dtype):
        return []
    whole = text_of(column[large]).str.strip().str.fullmatch(r"[+-]?\d+\.?0*")
    large[large] = whole.to_numpy(bool)
    advice = "subtract a start, or use a coarser unit or dates"
    return [Complaint(large, "times below 2**53", advice)]


def _plain(column: Any) -> Any:
    """The column with the type of what it holds: categories and objects unpacked."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if column.dtype == object:
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
            try:
                return pd.to_numeric(column)
            except OverflowError:  # a whole number of hundreds of digits
                return column.map(_as_float, na_action="ignore").astype(np.float64)
        if kind in ("boolean", "complex", "datetime64", "timedelta", "timedelta64"):
            return column.infer_objects() if column.notna().all() else column
        if kind == "empty":
            return pd.Series(np.full(len(column), np.nan), column.index)
    return column


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _finite(values: Float64[np.ndarray, " row"]) -> Numbers:
    large = np.abs(values) > LARGEST
    if not large.any():
        return Numbers(values, [])
    complaints = [
        Complaint(
            np.isinf(values), "a finite number", "leave the field empty if the value is not known"
        ),
        Complaint(
            large & ~np.isinf(values),
            f"a number from -{LARGEST:g} to {LARGEST:g}",
            "leave the field empty if it stands for no value, or use a larger unit",
        ),
    ]
    return Numbers(np.where(large, np.nan, values), complaints)


def _nothing(column: Any, expected: str, advice: str) -> Numbers:
    there = column.notna().to_numpy(bool)
    return Numbers(np.full(len(column), np.nan), [Complaint(there, expected, advice)])


def _numbers_in_text(column: Any) -> tuple[Any, Any]:
    """Text as numbers, and where it is neither a number nor stands for none."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute

    if column.dtype != object:
        try:
            text = pa.array(column)
            compute: Any = pyarrow.compute
            missing = compute.is_in(text, value_set=pa.array(MISSING, text.type))
            numbers = compute.if_else(missing, None, text).cast(pa.float64())
            return numbers.to_numpy(zero_copy_only=False), np.zeros(len(column), bool)
        except pa.ArrowException:
            pass  # some text is no number: now find out which, more slowly
    text, there = _present_text(column)
    numbers = np.asarray(pd.to_numeric(text, errors="coerce"), np.float64)
    return numbers, there & np.isnan(numbers)


def _present_text(column: Any) -> tuple[Any, Any]:
    """What a column holds as text, without spaces around it, and where it holds anything."""
    text = text_of(column).str.strip()
    there = (column.notna() & ~text.isin(MISSING)).to_numpy(bool)
    return text.where(there), there


def text_of(column: Any) -> Any:
    """What a column or an index holds as text; bytes that are none, as Python writes them."""
    try:
        return column.astype(str)
    except UnicodeDecodeError:
        return column.map(str).astype(str)


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def _offsets(text: Any) -> Any:
    """The offset from UTC at the end of each text that has a time of day, as +0100; "" if none."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute

    compute: Any = pyarrow.compute
    pattern = r"\d[T ]\d.*?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)$"
    found = compute.extract_regex(pa.array(text, pa.string()), pattern)
    zones = pd.Series(compute.struct_field(found, "zone").to_pandas()).fillna("")
    return zones.str.replace(":", "").replace({"Z": "+0000", "+00": "+0000"})


def _seconds(dates: Any) -> Float64[np.ndarray, " row"]:
    microseconds = dates.to_numpy().astype("datetime64[us]")
    seconds = microseconds.astype(np.int64) / 1e6
    seconds[np.isnat(microseconds)] = np.nan
    return seconds


def _zone_name(zone: Any) -> str:
    """A name that means the same on any machine; UTC, the same instants, if there is none."""
    name = str(zone)
    if re.fullmatch(r"UTC([+-]\d\d:\d\d)?", name):
        return name
    try:
        return ZoneInfo(name).key
    except (ValueError, KeyError, OSError):
        return "UTC"
