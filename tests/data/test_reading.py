"""Tables of many forms, read to the same series."""

import gzip
import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lupi
from lupi.data import Columns, SeriesTable, read_series, summarise

ROLES = {"series": "run", "time": "t", "observed": ["x", "y"], "privileged": ["k"]}
SETTINGS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(source, **arguments) -> SeriesTable:
    """As for a new run: random tables may well have constant columns."""
    return read_series(source, **({"training": False} | ROLES | arguments))


def same(one: SeriesTable, other: SeriesTable) -> bool:
    pairs = [
        (getattr(one, name), getattr(other, name))
        for name in ("labels", "offsets", "times", "values", "privileged")
    ]
    for first, second in pairs:
        np.testing.assert_array_equal(first, second, strict=True)
    assert one.columns == other.columns
    assert one.fingerprint() == other.fingerprint()
    return True


numbers = st.floats(-1e9, 1e9, allow_subnormal=False)
gaps = st.one_of(st.just(float("nan")), numbers)
texts = st.text("abcxyzé 0123456789_-,", min_size=1, max_size=6).filter(
    lambda text: text == text.strip() and not text.isdigit()
)


@st.composite
def tables(draw, dates: bool | None = None) -> pd.DataFrame:
    """Series of different lengths at different times, with gaps, labels of text or numbers."""
    some_labels = st.one_of(
        st.lists(st.integers(-1000, 1000), min_size=1, max_size=5, unique=True),
        st.lists(texts.filter(lambda text: text[0] in "abc"), min_size=1, max_size=5, unique=True),
    )
    dates = draw(st.booleans()) if dates is None else dates
    rows = []
    for label in draw(some_labels):
        stiffness = draw(gaps)
        for t in draw(st.lists(st.integers(0, 10**8), min_size=1, max_size=6, unique=True)):
            x, y = draw(gaps), draw(numbers)
            rows.append((label, t, x, y, stiffness))
    table = pd.DataFrame(rows, columns=["run", "t", "x", "y", "k"])
    if dates:
        table["t"] = pd.to_datetime(table["t"] * 1001, unit="ms", origin="2020-01-01").astype(
            "datetime64[us]"
        )
    elif draw(st.booleans()):
        table["t"] = table["t"] / 7
    return table


@SETTINGS
@given(tables(), st.randoms())
def test_the_order_of_rows_changes_nothing(table, random):
    order = list(range(len(table)))
    random.shuffle(order)
    assert same(read(table), read(table.iloc[order]))


@SETTINGS
@given(tables(), st.randoms())
def test_repeated_rows_change_nothing(table, random):
    again = table.iloc[random.choices(range(len(table)), k=3)]
    assert same(read(table), read(pd.concat([table, again])))


@settings(SETTINGS, max_examples=15)  # twelve forms each
@given(table=tables())
def test_a_file_a_frame_and_a_dictionary_give_the_same(table, tmp_path):
    expected = read(table)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_csv(tmp_path / "a.csv.gz", index=False)
    table.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    table.to_parquet(tmp_path / "a.parquet")
    table.to_xarray().to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    for name in ("a.csv", "a.csv.gz", "a.tsv", "a.parquet", "a.nc"):
        assert same(read(tmp_path / name), expected), name
    assert same(read(str(tmp_path / "a.csv")), expected)
    assert same(read(pa.Table.from_pandas(table)), expected)
    assert same(read(pl.from_pandas(table)), expected)
    assert same(read(pl.from_pandas(table).lazy()), expected)
    assert same(read(table.to_xarray()), expected)
    assert same(read({name: table[name].to_numpy() for name in table}), expected)
    assert same(read({name: table[name].tolist() for name in table}), expected)
    assert same(read(table.set_index(["run", "t"])), expected)
    assert same(read(table.astype({"run": "category"})), expected)


@SETTINGS
@given(tables(), st.integers(0, 5))
def test_two_parts_put_together_are_the_whole(table, where):
    whole = read(table)
    parts = [part.to_dataframe() for part in (whole[:where], whole[where:]) if len(part)]
    assert same(read(pd.concat(parts)), whole)


@SETTINGS
@given(table=tables())
def test_a_second_table_says_the_same_as_a_column(table, tmp_path):
    second = table.groupby("run", as_index=False)["k"].first()
    second.to_csv(tmp_path / "second.csv", index=False)
    expected = read(table)
    rows = table.drop(columns="k")
    assert same(read(rows, privileged_table=second), expected)
    assert same(read(rows, privileged_table=tmp_path / "second.csv"), expected)


@SETTINGS
@given(table=tables())
def test_a_table_is_json_when_summed_up_and_its_rows_have_values(table):
    read_table = read(table)
    summary = json.loads(json.dumps(summarise(read_table), allow_nan=False))
    assert summary["rows"] == len(table.drop_duplicates(["run", "t"]))
    assert not np.isnan(read_table.values).all(axis=1).any()
    for one in read_table:
        assert (np.diff(one.times) > 0).all()


def test_what_is_read_is_what_stands_there():
    table = read(
        {
            "run": ["b", "a", "b", "a", "a"],
            "t": [3, 2, 1, 0, 1],
            "x": [1.0, 2.0, 3.0, 4.0, None],
            "y": [5.0, None, 6.0, 7.0, None],  # the last row has no value at all
            "k": [None, 8.0, None, None, 8.0],
        }
    )
    assert table.columns == Columns(**ROLES)
    assert table.labels.tolist() == ["a", "b"]
    assert table.offsets.tolist() == [0, 2, 4]
    assert table.lengths.tolist() == [2, 2]
    assert table.times.tolist() == [0, 2, 1, 3]
    np.testing.assert_array_equal(table.values, [[4, 7], [2, np.nan], [3, 6], [1, 5]])
    np.testing.assert_array_equal(table.privileged, [[8], [np.nan]])


def test_rows_of_one_time_fill_each_others_gaps():
    table = read_series(
        {"t": [0, 0, 1], "x": [1.0, None, 2.0], "y": [None, 3.0, 4.0]},
        time="t",
        observed=["x", "y"],
    )
    assert table.values.tolist() == [[1, 3], [2, 4]]


def test_without_a_series_column_all_rows_are_one_series():
    table = read_series({"t": [1, 0], "x": [1.0, 2.0]}, time="t", observed="x")
    assert len(table) == 1
    assert table.values.tolist() == [[2], [1]]
    assert table.to_dataframe().columns.tolist() == ["t", "x"]


def test_series_are_chosen_by_slice_indices_booleans_or_one_index():
    table = read(
        {"run": [1, 2, 2, 3], "t": [0, 0, 1, 0], "x": [1, 2, 3, 4], "y": 4 * [0], "k": 4 * [0]}
    )
    assert table[1].times.tolist() == [0, 1]
    assert table[1:].labels.tolist() == [2, 3]
    assert table[np.array([2, 0])].values[:, 0].tolist() == [4, 1]
    assert table[np.array([True, False, True])].labels.tolist() == [1, 3]
    with pytest.raises(IndexError):
        table[3]


def test_a_change_of_any_number_or_label_changes_the_fingerprint():
    rows = {"run": ["a", "b"], "t": [0, 1], "x": [1.0, 2.0], "y": [3.0, 4.0], "k": [5.0, 6.0]}
    changed = [
        rows | {"run": ["a", "c"]},
        rows | {"t": [0, 2]},
        rows | {"x": [1.0, 2.5]},
        rows | {"k": [5.0, None]},
    ]
    assert len({read(source).fingerprint() for source in (rows, *changed)}) == 5
    assert read(rows | {"t": [-0.0, 1]}).fingerprint() == read(rows).fingerprint()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("1 2 10", [1, 2, 10]),
        ("007 7 8", ["007", "7", "8"]),
        ("NA CH DE", ["CH", "DE", "NA"]),
        ("1.0 1 2", ["1", "1.0", "2"]),
        ("2024-01-01 b c", ["2024-01-01", "b", "c"]),
    ],
)
def test_labels_in_a_text_file_lose_nothing(labels, expected, tmp_path):
    rows = "\n".join(f"{label}, 0, 1" for label in labels.split())
    (tmp_path / "a.csv").write_text(f"run, t, x\n{rows}\n")
    table = read(tmp_path / "a.csv", observed="x", privileged=())
    assert table.labels.tolist() == expected


def test_labels_of_other_kinds_become_text():
    for labels, expected in (
        ([True, False], ["False", "True"]),
        ([date(2024, 1, 2), date(2024, 1, 1)], ["2024-01-01", "2024-01-02"]),
        (pd.to_datetime(["2024-01-02", "2024-01-01"]), ["2024-01-01", "2024-01-02"]),
    ):
        rows = {"run": labels, "t": [0, 1], "x": [1.0, 2.0]}
        assert read(rows, observed="x", privileged=()).labels.tolist() == expected


def test_labels_that_are_decimal_numbers_stay_so():
    rows = {"run": [0.5, 0.25], "t": [0, 1], "x": [1.0, 2.0]}
    assert read(rows, observed="x", privileged=()).labels.tolist() == [0.25, 0.5]


def test_a_timezone_without_a_name_becomes_utc():
    from dateutil.tz import tzlocal

    times = pd.DatetimeIndex([NOON, NOON + timedelta(seconds=1)]).tz_convert(tzlocal())
    table = read_series({"t": times, "x": [1.0, 2.0]}, time="t", observed="x")
    assert table.times.tolist() == [NOON.timestamp(), NOON.timestamp() + 1]
    assert table.columns.timezone == "UTC"


def test_numbers_of_series_may_be_larger_than_signed_ones():
    rows = {"run": np.array([2**64 - 1, 5], np.uint64), "t": [0, 1], "x": [1.0, 2.0]}
    assert read(rows, observed="x", privileged=()).labels.tolist() == [5, 2**64 - 1]


@pytest.mark.parametrize("labels", [[-(2**70), 5], [-1, 2**64 - 1], [2**63, 2**64]])
def test_numbers_of_series_that_no_kind_of_number_holds_become_text(labels):
    rows = {"run": labels, "t": [0, 1], "x": [1.0, 2.0]}
    assert read(rows, observed="x", privileged=()).labels.tolist() == sorted(map(str, labels))


def test_labels_that_are_numbers_in_one_file_and_text_in_another_are_the_same(tmp_path):
    (tmp_path / "a.csv").write_text("run,t,x\n1,0,3\n2,0,4\nspare,0,5\n")
    (tmp_path / "b.csv").write_text("run,k\n2,20\n1,10\n9,90\n")
    table = read(tmp_path / "a.csv", observed="x", privileged_table=tmp_path / "b.csv")
    assert table.labels.tolist() == ["1", "2", "spare"]
    np.testing.assert_array_equal(table.privileged[:, 0], [10, 20, np.nan])


NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("times", "timezone"),
    [
        (["2024-03-01T12:00:00", "2024-03-01 12:00:00.5"], None),
        (["2024-03-01T12:00:00Z", "2024-03-01T12:00:00.5+00:00"], "UTC"),
        (["2024-03-01T14:00:00+02:00", "2024-03-01T14:00:00.5+0200"], "UTC+02:00"),
        ([NOON.replace(tzinfo=None), NOON.replace(tzinfo=None, microsecond=500_000)], None),
        ([NOON, NOON.replace(microsecond=500_000)], "UTC"),
        (
            pd.DatetimeIndex([NOON, NOON + timedelta(seconds=0.5)]).tz_convert("Asia/Tokyo"),
            "Asia/Tokyo",
        ),
        (np.array(["2024-03-01T12:00:00", "2024-03-01T12:00:00.5"], "datetime64[ns]"), None),
    ],
)
def test_dates_become_seconds_and_dates_again(times, timezone):
    table = read_series({"t": times, "x": [1.0, 2.0]}, time="t", observed="x")
    assert table.times.tolist() == [NOON.timestamp(), NOON.timestamp() + 0.5]
    assert table.columns.datetime
    assert table.columns.timezone == timezone
    expected = pd.to_datetime(pd.Series([NOON, NOON + timedelta(seconds=0.5)]))
    expected = (
        expected.dt.tz_localize(None) if timezone is None else expected.dt.tz_convert(timezone)
    )
    assert table.to_dataframe()["t"].tolist() == expected.tolist()
    assert summarise(table)["time"]["min"] == expected[0].isoformat()


def test_days_and_durations_are_times():
    days = read_series(
        {"t": [date(1970, 1, 3), date(1970, 1, 1)], "x": [1.0, 2.0]}, time="t", observed="x"
    )
    assert days.times.tolist() == [0, 2 * 86400]
    durations = read_series(
        {"t": [timedelta(minutes=1), timedelta(0)], "x": [1.0, 2.0]}, time="t", observed="x"
    )
    assert durations.times.tolist() == [0, 60]
    assert not durations.columns.datetime


def test_fields_that_stand_for_nothing_are_gaps(tmp_path):
    (tmp_path / "a.csv").write_text("t,x,y\n0,NA,1\n1,2,null\n2, ,NaN\n3,+4,1e-3\n")
    table = read_series(tmp_path / "a.csv", time="t", observed=["x", "y"], training=False)
    np.testing.assert_array_equal(table.values, [[np.nan, 1], [2, np.nan], [4, 0.001]])
    assert table.times.tolist() == [0, 1, 3]


def test_a_spreadsheets_file_with_a_mark_at_its_start_and_quotes_is_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbf"t","note","x"\r\n0,"a,\r\nb",1\r\n1,"",2\r\n')
    table = read_series(tmp_path / "a.csv", time="t", observed="x")
    assert table.values[:, 0].tolist() == [1, 2]


def test_a_classic_netcdf_file_is_read(tmp_path):
    rows = {"t": [0.0, 1.0], "x": [1.0, 2.0]}
    pd.DataFrame(rows).to_xarray().to_netcdf(tmp_path / "a.nc", engine="scipy")
    assert same(
        read_series(tmp_path / "a.nc", time="t", observed="x"),
        read_series(rows, time="t", observed="x"),
    )


def test_a_dataset_along_series_and_time_is_unfolded():
    dataset = xr.Dataset(
        {
            "x": (("run", "t"), [[1.0, 2.0], [3.0, np.nan]]),
            "y": (("run", "t"), [[5.0, 6.0], [7.0, np.nan]]),
            "k": ("run", [8.0, np.nan]),
        },
        coords={"run": ["a", "b"], "t": [0.0, 0.5]},
    )
    table = read(dataset)
    assert table.offsets.tolist() == [0, 2, 3]
    assert table.values.tolist() == [[1, 5], [2, 6], [3, 7]]
    np.testing.assert_array_equal(table.privileged, [[8], [np.nan]])
    rows = dataset.drop_vars("k")
    assert same(read(rows, privileged_table=dataset[["k"]]), table)


def test_series_of_a_dataset_may_have_times_of_their_own_and_padding(tmp_path):
    dataset = xr.Dataset(
        {"x": (("run", "step"), [[1.0, 2.0], [3.0, np.nan]])},
        coords={"t": (("run", "step"), [[0.0, 0.5], [7.0, np.nan]])},
    )
    dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    for source in (dataset, tmp_path / "a.nc"):
        table = read(source, observed="x", privileged=())
        assert table.labels.tolist() == [0, 1]
        assert table.times.tolist() == [0, 0.5, 7]


def test_times_in_seconds_in_a_netcdf_file_stay_numbers(tmp_path):
    dataset = xr.Dataset({"x": ("t", [1.0, 2.0])}, coords={"t": [0.0, 1.5]})
    dataset["t"].attrs["units"] = "seconds"
    dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    table = read_series(tmp_path / "a.nc", time="t", observed="x")
    assert table.times.tolist() == [0, 1.5]
    assert not table.columns.datetime


def test_whole_numbers_with_gaps_and_decimals_are_numbers():
    from decimal import Decimal

    table = read_series(
        {
            "t": pd.array([0, 1], "Int64"),
            "x": pd.array([None, 3], "Int64"),
            "y": [Decimal("0.5"), None],
            "z": pd.array([1.5, None], pd.ArrowDtype(pa.float32())),
        },
        time="t",
        observed=["x", "y", "z"],
        training=False,
    )
    np.testing.assert_array_equal(table.values, [[np.nan, 0.5, 1.5], [3, np.nan, np.nan]])


def test_the_mask_of_an_array_is_heeded():
    runs = np.ma.array([7, 7, 8, 8, -1], mask=[0, 0, 0, 0, 1])
    x = np.ma.array([1.0, -9999.0, 3.0, 4.0, -9999.0], mask=[0, 1, 0, 0, 1])
    columns = {"run": runs, "t": np.ma.arange(5), "x": x}
    table = read(columns, observed="x", privileged=())
    assert table.labels.tolist() == [7, 8]
    assert table.labels.dtype == np.int64
    np.testing.assert_array_equal(table.values[:, 0], [1.0, 3.0, 4.0])


def test_the_order_of_bytes_does_not_matter():
    columns = {"run": np.array([1, 1, 2]), "t": np.arange(3), "x": np.arange(3.0)}
    turned = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in columns.items()}
    roles = {"observed": "x", "privileged": ()}
    assert same(read(columns, **roles), read(turned, **roles))
    assert same(read(columns, **roles), read(pd.DataFrame(turned), **roles))


def test_levels_of_an_index_may_have_numbers_for_names():
    index = pd.MultiIndex.from_product([["a", "b"], [0.0, 1.0]], names=[0, 1])
    frame = pd.DataFrame({"x": np.arange(4.0)}, index=index)
    table = read(frame, series="0", time="1", observed="x", privileged=())
    assert table.labels.tolist() == ["a", "b"]


def test_columns_whose_names_are_numbers_or_have_dots_are_found(tmp_path):
    frame = pd.DataFrame({0: [0.0, 1.0], "x.y": [1.0, 2.0]})
    assert read_series(frame, time="0", observed="x.y").times.tolist() == [0, 1]
    frame.rename(columns=str).to_parquet(tmp_path / "a.parquet")
    assert read_series(tmp_path / "a.parquet", time="0", observed="x.y").times.tolist() == [0, 1]
    assert read_series({0: [1, 2], "x": [1, 2]}, time="0", observed="x").times.tolist() == [1, 2]


def test_text_in_a_parquet_file_may_be_dates_and_numbers(tmp_path):
    rows = pd.DataFrame({"t": ["2024-01-02", "2024-01-01"], "x": ["1.5", "NA"], "y": [" 2", "3"]})
    rows.to_parquet(tmp_path / "a.parquet")
    pl.from_pandas(rows).write_parquet(tmp_path / "b.parquet")
    for name in ("a.parquet", "b.parquet"):
        table = read_series(tmp_path / name, time="t", observed=["x", "y"], training=False)
        np.testing.assert_array_equal(table.values, [[np.nan, 3], [1.5, 2]])
        assert table.columns.datetime


def test_other_columns_may_have_any_names_and_contents(tmp_path):
    text = b"t,note,x,note\n0,\xe9,1,2\n1,a,2,b\n"
    (tmp_path / "a.csv").write_bytes(text)
    frame = pd.DataFrame([[0, 1, 1.0], [1, 2, 2.0]], columns=["t", "note", "x"])
    frame.insert(1, "note", "text", allow_duplicates=True)
    names = ["t", "note", "note", "x"]
    arrow = pa.table([pa.array([0, 1]), *2 * [pa.array(["a", "b"])], pa.array([1.0, 2.0])], names)
    for source in (tmp_path / "a.csv", frame, arrow):
        assert read_series(source, time="t", observed="x").values.tolist() == [[1], [2]]


def test_the_summary_tells_what_was_understood():
    table = read(
        {
            "run": ["a", "a", "b"],
            "t": [0, 2, 5],
            "x": [1.0, 3.0, 2.0],
            "y": [None, 4.0, None],
            "k": [None, None, 6.0],
        }
    )
    assert summarise(table) == {
        "series": 2,
        "rows": 3,
        "left_out": {},
        "lengths": {"min": 1, "median": 1.5, "max": 2},
        "time": {"column": "t", "min": 0.0, "max": 5.0},
        "observed": {
            "x": {"min": 1.0, "max": 3.0, "missing": 0.0},
            "y": {"min": 4.0, "max": 4.0, "missing": pytest.approx(2 / 3)},
        },
        "privileged": {"k": {"min": 6.0, "max": 6.0, "coverage": 0.5}},
    }
    empty = summarise(table[:0])
    assert empty["lengths"] == {"min": None, "median": None, "max": None}
    assert empty["observed"]["x"] == {"min": None, "max": None, "missing": 0.0}


def test_reading_and_summing_up_import_no_jax(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"t,x\n0,1\n1,2\n"))
    script = (
        "import sys, lupi; table = lupi.read_series('a.csv.gz', time='t', observed='x');"
        "lupi.summarise(table); lupi.check_series('a.csv.gz', time='t', observed='x');"
        "assert not {'jax', 'equinox'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_names_of_the_package_are_its_own():
    assert dir(lupi.data) == sorted(lupi.data.__all__)
    with pytest.raises(AttributeError, match="no attribute 'read_everything'"):
        lupi.data.read_everything  # noqa: B018
