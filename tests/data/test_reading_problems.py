"""Every kind of bad input, and the message it gets: the place, what was expected, what to do."""

import gzip
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

from lupi.data import check_series, read_series
from lupi.errors import UserError

GOOD = "run,t,x,y,k\na,0,1,5,7\na,1,2,6,7\nb,0,3,7,8\nb,1,4,8,8\n"
ARGUMENTS = {"series": "run", "time": "t", "observed": ["x", "y"], "privileged": ["k"]}


def good_frame(**changed) -> pd.DataFrame:
    columns = {
        "run": ["a", "a", "b", "b"],
        "t": [0.0, 1.0, 0.0, 1.0],
        "x": [1.0, 2.0, 3.0, 4.0],
        "y": [5.0, 6.0, 7.0, 8.0],
        "k": [7.0, 7.0, 8.0, 8.0],
    }
    return pd.DataFrame(columns | changed)


def csv(text: str, name: str = "runs.csv"):
    def write(folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return write


def content(data: bytes, name: str):
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


def frame(**changed):
    return lambda folder: good_frame(**changed)


def truncated(name: str):
    def write(folder: Path) -> Path:
        path = folder / name
        table = good_frame()
        if path.suffix == ".nc":
            table.to_xarray().to_netcdf(path, engine="h5netcdf")
        elif path.suffix == ".parquet":
            table.to_parquet(path)
        else:
            path.write_bytes(gzip.compress(GOOD.encode() * 1000))
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        return path

    return write


def damaged_pages(folder: Path) -> Path:
    """A Parquet file whose end, which lists its columns, is whole, but not its data."""
    path = folder / "runs.parquet"
    good_frame().to_parquet(path)
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    return path


def folder_of_files(folder: Path) -> Path:
    (folder / "runs.csv").mkdir()
    return folder / "runs.csv"


def stations(folder: Path) -> xr.Dataset:
    return xr.Dataset(
        {name: (("run", "t", "station"), np.ones((2, 3, 2))) for name in "xyk"},
        coords={"run": ["a", "b"], "t": [0.0, 1.0, 2.0]},
    )


def two_lengths(folder: Path) -> dict:
    return {"run": ["a"] * 3, "t": [0.0, 1.0], "x": [1.0] * 3, "y": [1.0] * 3, "k": [1.0] * 3}


class Bad(NamedTuple):
    kind: str
    source: object
    message: str
    """A regular expression that one of the problems must match."""
    arguments: dict = {}  # noqa: RUF012


def parquet(**changed):
    def write(folder: Path) -> Path:
        columns = {name: pa.array(values) for name, values in good_frame().items()}
        pq.write_table(pa.table(columns | changed), folder / "runs.parquet")
        return folder / "runs.parquet"

    return write


def levels(folder: Path) -> pd.DataFrame:
    return good_frame().set_axis(pd.MultiIndex.from_product([["a"], list("rtxyk")]), axis=1)


SEVERAL = {
    "lists": pa.array([[1.0, 2.0]] * 4),
    "structs": pa.array([{"mean": 1.0}] * 4),
    "bytes": pa.array([b"\xff\x00"] * 4),
    "maps": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
}
RECORDS = np.zeros(4, [("mean", float)])
MARS = pa.array([0, 1, 2, 3], pa.timestamp("us", "Mars/Phobos"))
LATE = f"run,t,x,y,k\na,{2**53},1,,7\na,{2**53 + 1},,2,7\nb,0,3,4,8\nb,1,5,6,8\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))

TABLE = [
    # Files
    Bad("missing file", lambda f: f / "no.csv", r"no\.csv: expected a file, found none"),
    Bad("folder", folder_of_files, r"runs\.csv: expected a file, got a folder"),
    Bad(
        "unknown suffix", csv(GOOD, "r.xlsx"), r"r\.xlsx: expected a file that ends in \.csv.*xlsx"
    ),
    Bad("no suffix", csv(GOOD, "runs"), r"got no ending: save it as one of these"),
    Bad("empty file", csv(""), r"runs\.csv: expected a table, got an empty file"),
    Bad("only blank lines", csv("\n\n"), r"expected a line of column names, got an empty file"),
    Bad("only a header", csv("run,t,x,y,k\n"), r"expected rows of data, got only the names"),
    Bad("PNG as csv", content(PNG, "a.csv"), r"'a\.csv' says, got a PNG image: rename"),
    Bad("Excel as csv", content(b"PK\x03\x04\0\0", "a.csv"), r"got a zip or Excel file"),
    Bad("text as parquet", csv(GOOD, "a.parquet"), r"expected a Parquet file.*got text"),
    Bad("text as netcdf", csv(GOOD, "a.nc"), r"expected a NetCDF file.*got text"),
    Bad("text as gzip", csv(GOOD, "a.csv.gz"), r"expected a gzip file.*got text"),
    Bad("gzip as csv", content(gzip.compress(b"a"), "a.csv"), r"got a gzip file"),
    Bad("bytes as parquet", content(bytes(99), "a.parquet"), r"got something else"),
    Bad("truncated parquet", truncated("a.parquet"), r"a\.parquet: .*damaged or truncated"),
    Bad("damaged parquet", damaged_pages, r"runs\.parquet: .*damaged or truncated"),
    Bad("truncated netcdf", truncated("a.nc"), r"a\.nc: expected a whole NetCDF file"),
    Bad("truncated gzip", truncated("a.csv.gz"), r"a\.csv\.gz: it.* cannot be read"),
    Bad("UTF-16", content(GOOD.encode("utf-16"), "a.csv"), r"got text in UTF-16"),
    Bad(
        "not UTF-8",
        content(GOOD.replace("b,0", "é,0").encode("latin-1"), "a.csv"),
        r"a\.csv, row 3: expected text in UTF-8.*save it as UTF-8",
    ),
    Bad(
        "header not UTF-8",
        content("é,t\n".encode("latin-1"), "a.csv"),
        r"a\.csv: expected text in UTF-8",
    ),
    Bad(
        "too many fields",
        csv(GOOD.replace("a,1,2", "a,1,2,9")),
        r"runs\.csv, row 2: expected 5 values, as in the header, got 6",
    ),
    # Columns and roles
    Bad(
        "missing column",
        csv(GOOD.replace("x,y", "speed,y")),
        r"column 'sped': expected a column.*'run', 't', 'speed', 'y', 'k'\. Did you mean 'speed'",
        {"observed": ["sped"]},
    ),
    Bad("semicolons", csv(GOOD.replace(",", ";")), r"column 'run': .*separated by ';'"),
    Bad(
        "duplicate column",
        csv(GOOD.replace("x,y", "x,x")),
        r"runs\.csv, column 'x': expected one column of this name, got 2",
    ),
    Bad(
        "duplicate column in a frame",
        lambda f: pd.concat([good_frame(), good_frame()[["x"]]], axis=1),
        r"^column 'x': expected one column of this name, got 2",
    ),
    Bad(
        "two roles",
        csv(GOOD),
        r"column 'x': expected one role.*observed and privileged",
        {"privileged": ["x"]},
    ),
    Bad("no observed column", csv(GOOD), r"at least one observed column", {"observed": []}),
    # Text and kinds
    Bad(
        "text for a number",
        csv(GOOD.replace("a,1,2", "a,1,high")),
        r"runs\.csv, column 'x', series 'a', row 2: expected a number, got 'high': correct it",
    ),
    Bad(
        "decimal comma",
        csv(GOOD.replace("a,1,2,", 'a,1,"2,5",')),
        r"column 'x', series 'a', row 2: .*got '2,5': .*a point for decimals",
    ),
    Bad(
        "text privileged",
        csv(GOOD.replace("b,1,4,8,8", "b,1,4,8,soft")),
        r"column 'k', series 'b', row 4: expected a number, got 'soft'",
    ),
    Bad("text time", csv(GOOD.replace("b,1", "b,late")), r"'t', series 'b', row 4: .*got 'late'"),
    Bad("all text times", frame(t=list("pqrs")), r"column 't'.*expected a number or a date"),
    Bad(
        "booleans",
        frame(x=[True, False, True, False]),
        r"column 'x', series 'a', row 1: expected a number, got True.*4 such rows.*write 0 and 1",
    ),
    Bad("booleans in a file", csv("run,t,x,y,k\na,0,True,1,1\n"), r"'x'.*got 'True'"),
    Bad("a boolean among numbers", frame(x=[1.0, True, 3.0, None]), r"row 2: .*got True"),
    Bad("boolean times", frame(t=[True, False] * 2), r"column 't'.*got True"),
    Bad("complex", frame(x=[1j, 2, 3, 4]), r"column 'x'.*got 1j.*as two columns"),
    Bad("dates as values", frame(x=pd.date_range("2024", periods=4)), r"'x'.*only be the time"),
    Bad("lists as values", frame(x=[[1], [2], [3], [4]]), r"column 'x'.*got \[1\]"),
    # Missing and infinite
    Bad(
        "infinite observed",
        csv(GOOD.replace("b,0,3", "b,0,inf")),
        r"runs\.csv, column 'x', series 'b', row 3: expected a finite number, got 'inf'",
    ),
    Bad("infinite time", frame(t=[0, -np.inf, 0, 1]), r"'t', series 'a', row 2: .*got -inf"),
    Bad("infinite privileged", frame(k=[7, 7, np.inf, 8]), r"'k', series 'b', row 3: .*got inf"),
    Bad(
        "missing time",
        csv(GOOD.replace("b,1", "b,")),
        r"column 't', series 'b', row 4: expected a time in every row.*got nothing: fill it in",
    ),
    Bad("no time at all", csv("run,t,x,y,k\na,,1,2,3\n"), r"row 1: expected a time in every row"),
    Bad(
        "missing label",
        csv(GOOD.replace("b,1", ",1")),
        r"runs\.csv, column 'run', row 4: expected the label.*got nothing: fill it in",
    ),
    Bad("blank label", frame(run=["a", "a", "b", " "]), r"column 'run', row 4: expected the label"),
    Bad("mixed labels", frame(run=["1", "1", 1, 1]), r"'run', series '1', row 3: .*of one kind"),
    Bad(
        "no values at all",
        frame(x=[None] * 4, y=[np.nan] * 4),
        r"expected rows with a time and an observed value, got none",
    ),
    # Times
    Bad(
        "two values at one time",
        csv(GOOD.replace("b,1", "b,0")),
        r"column 'x', series 'b', row 4: .*got 3\.0 in row 3 and 4\.0 here, both at 0\.0",
    ),
    Bad(
        "unparsable date",
        csv("run,t,x,y,k\na,2024-01-01,1,5,7\na,2024-01-02,2,6,7\nb,2024-13-01,3,7,8\n"),
        r"column 't', series 'b', row 3: expected a date such as.*got '2024-13-01'",
    ),
    Bad(
        "not ISO dates", frame(t=["1/2/24", "2/2/24"] * 2), r"column 't'.*got '1/2/24'.*2024-01-31"
    ),
    Bad(
        "mixed timezones",
        frame(t=["2024-01-01T00:00+01:00", "2024-01-01T00:00Z"] * 2),
        r"'t', series 'a', row 2: expected dates of one timezone \(.*\+0100.*first of 2.*in UTC",
    ),
    Bad(
        "some with a timezone",
        frame(t=["2024-01-01T00:00", "2024-01-02T00:00Z"] * 2),
        r"row 2: expected dates of one timezone \(no timezone",
    ),
    Bad(
        "timezones as objects",
        frame(t=[pd.Timestamp("2024", tz="UTC"), pd.Timestamp("2025", tz="Asia/Tokyo")] * 2),
        r"row 2: expected dates of one timezone",
    ),
    Bad("huge whole times", frame(t=[2**60, 2**60 + 1] * 2), r"'t'.*row 1: expected times below"),
    # Privileged
    Bad(
        "privileged changes",
        csv(GOOD.replace("b,1,4,8,8", "b,1,4,8,9")),
        r"column 'k', series 'b', row 4: expected one value.*got '8' in row 3 and '9' here",
    ),
    Bad(
        "series twice in the privileged table",
        frame(),
        r"second\.csv, column 'run', series 'a', row 2: expected one row for each series, got 'a'",
        {"privileged_table": csv("run,k\na,1\na,2\nb,3\n", "second.csv")},
    ),
    Bad(
        "missing label in the privileged table",
        frame(),
        r"second\.csv, column 'run', row 2: expected the label",
        {"privileged_table": csv("run,k\na,1\n,2\nb,3\n", "second.csv")},
    ),
    Bad(
        "other labels in the privileged table",
        frame(),
        r"second\.csv, column 'run': .*such as 'a', got 1 and others",
        {"privileged_table": csv("run,k\n1,1\n2,2\n", "second.csv")},
    ),
    Bad(
        "privileged table without the column",
        frame(),
        r"second\.csv, column 'k': expected a column of this name",
        {"privileged_table": csv("run,mass\na,1\n", "second.csv")},
    ),
    Bad(
        "privileged table that is missing",
        frame(),
        r"second\.csv: expected a file, found none",
        {"privileged_table": lambda f: f / "second.csv"},
    ),
    Bad(
        "privileged table without a series column",
        frame(),
        r"expected the names of the series column",
        {"privileged_table": frame(), "series": None},
    ),
    # What training needs
    Bad(
        "short series",
        csv(GOOD + "c,0,1,2,3\nd,0,1,2,3\n"),
        r"runs\.csv, series 'c': expected at least 2 times.*got 1 \(the first of 2 such series\)",
        {"min_points": 2},
    ),
    Bad("constant observed", frame(x=[3.0] * 4), r"'x': expected values that differ, got 3\.0 in"),
    Bad("empty observed", frame(x=[np.nan] * 4), r"column 'x': expected a value in some row"),
    Bad("constant privileged", frame(k=[3.0] * 4), r"column 'k': .*got 3\.0 in every series"),
    Bad("empty privileged", frame(k=[None] * 4), r"column 'k': expected a value in some series"),
    # More than one value in a row, and what is none
    *(
        Bad(
            f"{kind} in Parquet as {column}",
            parquet(**{column: values}),
            rf"runs\.parquet, column '{column}', row 1: expected one value in each row",
        )
        for column in ("run", "t", "x", "k")
        for kind, values in SEVERAL.items()
    ),
    Bad("labels that are lists", frame(run=[[1], [1], [2], [2]]), r"'run', row 1: .*got \[1\]"),
    Bad("labels that are bytes", frame(run=[b"a", b"a", b"b", b"b"]), r"'run', row 1: .*got b'a'"),
    Bad("records", lambda f: dict(good_frame()) | {"x": RECORDS}, r"'x', row 1: .*one value in"),
    Bad("ragged times", frame(t=[[0], [0, 1], [0], [1]]), r"'t', row 1: .*one value in each row"),
    Bad("unknown timezone", parquet(t=MARS), r"column 't': .*a timezone that is known here.*Mars"),
    Bad("two levels of names", levels, r"expected one name for each column, got 2 \(a MultiIndex"),
    # Numbers that arithmetic cannot hold
    Bad(
        "values times 1e200", frame(x=np.arange(4) * 1e200), r"'x'.*row 2: .*to 1e\+100, got 1e\+2"
    ),
    Bad("one outlier of 1e300", csv(GOOD.replace("b,1,4", "b,1,1e300")), r"row 4.*got '1e300'"),
    Bad(
        "a span of 1e308", frame(t=[-1e308, 1e308, 0.0, 1.0]), r"column 't'.*row 1: .*got -1e\+308"
    ),
    Bad("a span of 1e-200", frame(x=np.arange(4) * 1e-200), r"'x': expected values that differ by"),
    Bad("huge whole numbers", frame(x=[1, 2, 3, 10**400]), r"column 'x'.*row 4: .*a finite number"),
    Bad(
        "whole times beyond 2**53",
        csv(LATE),
        r"'t', series 'a', row 1: expected times below 2\*\*53",
    ),
    # Datasets, arrays and other things
    Bad("three dimensions", stations, r"along series and time, got .*x \(run, t, station\)"),
    Bad("two lengths", two_lengths, r"columns of one length, got the shapes run \(3,\), t \(2,\)"),
    Bad("not a table", lambda f: 7, r"expected a path, a dataframe.*got int"),
]


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.kind)
def test_bad_input_gets_a_message_that_says_where_and_what_to_do(bad, tmp_path):
    arguments = ARGUMENTS | bad.arguments
    if "privileged_table" in arguments:
        arguments["privileged_table"] = arguments["privileged_table"](tmp_path)
    source = bad.source(tmp_path)
    _, problems = check_series(source, **arguments)
    assert any(re.search(bad.message, str(problem)) for problem in problems), problems
    with pytest.raises(UserError) as error:
        read_series(source, **arguments)
    assert str(error.value).startswith(str(problems[0]))


def test_there_are_at_least_thirty_kinds():
    assert len({bad.kind for bad in TABLE}) == len(TABLE) >= 30


def test_the_file_that_the_bad_ones_are_made_from_is_good(tmp_path):
    table, problems = check_series(csv(GOOD)(tmp_path), **ARGUMENTS)
    assert problems == []
    assert table is not None
    assert table.fingerprint() == read_series(good_frame(), **ARGUMENTS).fingerprint()


def test_many_of_a_kind_are_one_problem_with_the_first_row_and_their_number():
    x = np.arange(10_000.0)
    x[5_000:] = np.inf
    _, problems = check_series({"t": np.arange(10_000), "x": x}, time="t", observed="x")
    assert len(problems) == 1
    assert problems[0].row == 5_001
    assert "first of 5,000 such rows" in problems[0].message


def test_all_problems_are_found_at_once_and_the_error_says_how_many(tmp_path):
    text = "run,t,x,y,k\na,0,oops,5,7\na,1,2,inf,7\nb,,3,7,8\nb,1,4,8,9\n,2,4,8,9\n"
    path = csv(text)(tmp_path)
    table, problems = check_series(path, **ARGUMENTS)
    assert {(problem.column, problem.row) for problem in problems} == {
        ("k", 4),
        ("t", 3),
        ("run", 5),
        ("x", 1),
        ("y", 2),
    }
    assert table is not None  # what was understood, to be shown
    with pytest.raises(UserError, match=r"There are 4 more problems: `lupi check` lists them all"):
        read_series(path, **ARGUMENTS)


def test_one_more_problem_is_spoken_of_as_one():
    with pytest.raises(UserError, match=r"There is 1 more problem: "):
        read_series(good_frame(x=[1.0] * 4, y=[2.0] * 4), **ARGUMENTS)


def test_a_new_run_needs_none_of_the_checks_of_training():
    table = read_series(
        good_frame(x=[3.0] * 4, y=[np.nan] * 4, k=[np.nan] * 4), training=False, **ARGUMENTS
    )
    assert len(table) == 2


def test_a_file_that_may_not_be_opened_says_so(tmp_path, monkeypatch):
    path = csv(GOOD)(tmp_path)

    def refuse(*arguments, **settings):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    _, problems = check_series(path, **ARGUMENTS)
    assert "cannot be opened (Permission denied)" in problems[0].message


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.nc"])
def test_damage_anywhere_in_a_file_is_the_users_to_mend_and_no_fault_of_ours(name, tmp_path):
    path = tmp_path / name
    if name == "a.parquet":
        good_frame().to_parquet(path)
    elif name == "a.nc":
        good_frame().to_xarray().to_netcdf(path, engine="h5netcdf")
    else:
        good_frame().to_csv(path, index=False)
    data = path.read_bytes()
    generator = np.random.default_rng(0)
    found = 0
    for _ in range(40):
        damaged = bytearray(data)
        where = int(generator.integers(len(data)))
        damaged[where : where + int(generator.integers(1, 9))] = generator.bytes(4)
        path.write_bytes(damaged)
        _, problems = check_series(path, **ARGUMENTS)  # raises nothing
        found += bool(problems)
    assert found > 0


def test_text_in_a_parquet_file_that_is_not_utf8_is_found(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"run": labels, "t": [0, 1], "x": [1.0, 2.0]}), tmp_path / "a.parquet")
    _, problems = check_series(tmp_path / "a.parquet", series="run", time="t", observed="x")
    assert "damaged" in problems[0].message
