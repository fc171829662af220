"""Tables with anything in them: understood, or refused with a message."""

import io

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from fuzz.attack import CELLS, CHANGES, CORPUS, TINY, changed, examples, model_file, runs
from fuzz.law import folder, is_over, run

CHECK = ["--series", "run", "--time", "t", "--observed", "x,y"]


@st.composite
def csv_tables(draw) -> bytes:
    """Some runs as CSV, with cells, rows, columns and bytes changed."""
    table = runs().iloc[: draw(st.integers(0, len(runs())))].astype(object)
    for _ in range(draw(st.integers(0, 4)) if len(table) else 0):
        table = table.astype(object)
        row, column = draw(st.integers(0, len(table) - 1)), draw(st.sampled_from([*table.columns]))
        match draw(st.sampled_from(["cell", "column", "scale", "again", "order", "drop", "name"])):
            case "cell":
                table.iloc[row, table.columns.get_loc(column)] = draw(CELLS)
            case "column":
                table = table.assign(**{column: draw(CELLS)})
            case "scale" if column != "run":
                factor = 10.0 ** draw(st.integers(-320, 300))
                numbers = pd.to_numeric(table[column], errors="coerce")
                table = table.assign(**{column: numbers * factor})
            case "again":
                table = pd.concat([table, table.iloc[row:]], ignore_index=True)
            case "order":
                table = table.iloc[::-1].reset_index(drop=True)
            case "drop" if len(table.columns) > 1:
                table = table.drop(columns=column)
            case "name":
                table = table.rename(columns={column: draw(CELLS)})
                table = table.loc[:, ~table.columns.duplicated()]
    text = table.to_csv(index=False, sep=draw(st.sampled_from(",,,;\t")))
    content = text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig"])))
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(content)))
        content = content[:place] + draw(st.binary(max_size=8)) + content[place:]
    return content


COLUMNS = st.one_of(
    st.lists(st.lists(st.floats(0, 1), max_size=2), min_size=4, max_size=4),
    st.lists(st.fixed_dictionaries({"a": st.integers(0, 3)}), min_size=4, max_size=4),
    st.lists(st.binary(max_size=3), min_size=4, max_size=4),
    st.lists(st.none() | st.booleans(), min_size=4, max_size=4),
    st.lists(st.decimals(-5, 5, places=2), min_size=4, max_size=4),
    st.lists(st.datetimes() | st.none(), min_size=4, max_size=4),
    st.lists(st.dates(), min_size=4, max_size=4),
    st.lists(st.times(), min_size=4, max_size=4),
    st.lists(st.timedeltas(), min_size=4, max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
    st.lists(st.floats(), min_size=4, max_size=4),
    st.lists(st.text(max_size=4) | st.none(), min_size=4, max_size=4),
)


@st.composite
def parquet_tables(draw) -> bytes:
    """Two runs as Parquet, with columns of any type."""
    columns = {"run": [1, 1, 2, 2], "t": [0.0, 1.0, 0.0, 2.0], "x": [9.0, 9.5, 10.0, 10.5]}
    columns |= {"y": [1.0, 2.0, 3.0, 4.0]}
    for name in draw(st.lists(st.sampled_from([*columns]), max_size=2)):
        columns[name] = draw(COLUMNS)
    buffer = io.BytesIO()
    try:
        pd.DataFrame(columns).to_parquet(buffer)
    except (ValueError, TypeError, OverflowError, ArithmeticError):  # of pyarrow: no such file
        return b""
    return buffer.getvalue()


UNITS = st.sampled_from(
    [
        *("days since 2000-01-01", "hours since 1-1-1", "seconds since 1970-01-01T00:00:00Z"),
        *("months since 2000-01-01", "days since yesterday", "days since 2000-02-30", "since"),
        *(" since ", "years since 0000-00-00", "days since 99999-01-01", "days", "m", "1", ""),
        *("\x1b[31m", "é", 5.0, [1, 2]),
    ]
)
CALENDARS = st.sampled_from(
    [
        *("standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "all_leap"),
        *("366_day", "360_day", "julian", "none", "GREGORIAN", "mayan", "", "\x1b[31m", 360),
    ]
)
SPECIAL = st.sampled_from([0, 1, -1, -9999, 9.969209968386869e36, np.nan, np.inf, 1e300, "x", ""])
ATTRIBUTES = {
    "units": UNITS,
    "calendar": CALENDARS,
    "_FillValue": SPECIAL,
    "missing_value": SPECIAL | st.just([1.0, 2.0]),
    "scale_factor": SPECIAL,
    "add_offset": SPECIAL,
    "valid_range": st.just([0.0, 1.0]),
    "coordinates": st.sampled_from(["t", "x y", "nothing"]),
    "dtype": st.sampled_from(["int64", "datetime64[ns]", "strange"]),
    "é": SPECIAL,
}
KINDS = st.sampled_from(["f4", "f8", ">f8", "i1", "i2", "i4", "i8", "u1", "u4", "S3", "U2", "?"])
VALUES = st.lists(
    st.floats(-10, 10) | SPECIAL.filter(lambda value: not isinstance(value, str)),
    min_size=4,
    max_size=4,
)
ENGINES = st.sampled_from(["h5netcdf", "h5netcdf", "scipy"])


@st.composite
def netcdf_tables(draw) -> bytes:
    """Two runs as NetCDF, with attributes of any kind, as numbers of any type; some damaged."""
    columns = {"run": [1, 1, 2, 2], "t": [0.0, 1.0, 0.0, 2.0], "x": [9.0, 9.5, 10.0, 10.5]}
    columns |= {"y": [1.0, 2.0, 3.0, 4.0]}
    variables = {}
    for name, values in columns.items():
        array, attributes = np.array(values), {}
        if draw(st.integers(0, 2)) == 0:
            with np.errstate(all="ignore"):
                array = np.array(draw(VALUES)).astype(draw(KINDS))
        for attribute in draw(st.lists(st.sampled_from([*ATTRIBUTES]), max_size=2, unique=True)):
            attributes[attribute] = draw(ATTRIBUTES[attribute])
        kind = draw(st.integers(0, 19))
        dimensions = ("row",) if kind else ("row", "other")
        variables[name] = (dimensions, array if kind else np.stack([array, array], 1), attributes)
    shape = draw(st.sampled_from(["long", "long", "long", "wide", "scalar"]))
    if shape == "wide":  # along series and time
        x = variables["x"][1][:4].reshape(2, -1)[:, :2]
        variables = {"run": ("run", np.array([1, 2])), "t": ("t", np.array([0.0, 1.0]))}
        variables |= dict.fromkeys("xy", (("run", "t"), x))
    elif shape == "scalar":
        variables["y"] = ((), np.array(1.0))
    buffer = io.BytesIO()
    try:
        xr.Dataset(variables).to_netcdf(buffer, engine=draw(ENGINES))
    except Exception:  # of xarray and what it writes with: no such file
        return b""
    return (
        changed(buffer.getvalue(), draw(CHANGES))
        if draw(st.integers(0, 3)) == 0
        else buffer.getvalue()
    )


def goes_through(name: str, content: bytes, *, to_the_end: bool) -> None:
    """A table that is checked, forecast from, and trained on if all is well."""
    with folder({name: content, "model.lupi": model_file()}):
        checked = run("check", name, *CHECK)
        asked = ["predict", "model.lupi", name, "--times", "1,2", "--out", "f.csv"]
        if run(*asked, writes=["f.csv"]).code == 0:
            # A label may be any text, nan too.
            forecast = pd.read_csv("f.csv").drop(columns="run", errors="ignore")
            assert np.isfinite(forecast.select_dtypes("number")).all(axis=None)
        if to_the_end and checked.code == 0:
            train = ["train", name, *CHECK, *TINY, "--train.epochs", "1", "--out", "n.lupi"]
            ended = run(*train, writes=["n.lupi"])
            if ended.code == 0:
                run("show", "n.lupi")
                run("predict", "n.lupi", name, "--out", "g.csv", writes=["g.csv"])


@examples(15)
@given(csv_tables())
def test_any_csv_is_understood_or_refused(content):
    if not is_over():
        goes_through("table.csv", content, to_the_end=False)


@examples(15)
@given(parquet_tables())
def test_any_parquet_is_understood_or_refused(content):
    if not is_over():
        goes_through("table.parquet", content, to_the_end=False)


@examples(15)
@given(netcdf_tables())
def test_any_netcdf_is_understood_or_refused(content):
    if not is_over():
        goes_through("table.nc", content, to_the_end=False)


def test_a_table_in_order_goes_all_the_way():
    goes_through("table.csv", runs().to_csv(index=False).encode(), to_the_end=True)


@examples(1)
@given(csv_tables())
def test_any_csv_that_is_understood_is_trained_on_or_refused(content):
    if not is_over():
        goes_through("table.csv", content, to_the_end=True)


@pytest.mark.parametrize("path", sorted((CORPUS / "tables").iterdir()), ids=lambda path: path.name)
def test_a_table_that_broke_something_once_is_understood_or_refused(path):
    goes_through(path.name, path.read_bytes(), to_the_end=False)
