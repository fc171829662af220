"""NetCDF files: what they mean by nothing, and dates of other calendars."""

import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from lupi.data import check_series, read_series
from lupi.data.netcdf import FILLS
from lupi.errors import UserError

ROLES = {"series": "run", "time": "t", "observed": "x"}


def write(path, t, x, runs=(1, 1, 2, 2), **attributes):
    """A file of four rows, without a word on what is nothing."""
    dataset = xr.Dataset(
        {
            "run": ("row", np.array(runs)),
            "t": ("row", np.asarray(t), attributes),
            "x": ("row", np.asarray(x)),
        }
    )
    plain = {name: {"_FillValue": None} for name in dataset.variables}
    dataset.to_netcdf(path, engine="h5netcdf", encoding=plain)
    return path


@pytest.mark.parametrize("kind", ["f4", "f8", "i2", "i4", "i8"])
def test_the_default_fill_value_is_a_gap(tmp_path, kind):
    x = np.array([1, FILLS[kind], 3, 4], kind)
    table = read_series(write(tmp_path / "runs.nc", [0.0, 1.0, 0.0, 1.0], x), **ROLES)
    np.testing.assert_array_equal(table.values[:, 0], [1.0, 3.0, 4.0])
    assert table.left_out == {"rows": {"without an observed value": 1}}


def test_another_number_that_a_file_calls_nothing_is_a_gap_and_the_default_is_not(tmp_path):
    fill = FILLS["f8"]
    dataset = xr.Dataset(
        {"t": ("row", np.arange(4.0)), "x": ("row", np.array([1.0, -1.0, fill, 4.0]))}
    )
    dataset["x"].encoding["_FillValue"] = -1.0
    dataset.to_netcdf(tmp_path / "runs.nc", engine="h5netcdf")
    with pytest.raises(UserError, match=r"one scale can hold, got 9\.96921e"):
        read_series(tmp_path / "runs.nc", time="t", observed="x")


def test_whole_numbers_without_gaps_stay_whole(tmp_path):
    path = write(tmp_path / "runs.nc", [0, 1, 0, 1], [1, 2, 3, 4])
    assert read_series(path, **ROLES).labels.dtype == np.int64


def test_dates_of_a_calendar_without_leap_years_keep_their_names(tmp_path):
    pytest.importorskip("cftime")
    # 2000 has no 29 February there.
    how = {"units": "days since 2000-02-28", "calendar": "noleap"}
    path = write(tmp_path / "runs.nc", [0.0, 1.0, 0.0, 365.0], np.arange(4.0), **how)
    table = read_series(path, **ROLES)
    dates = pd.DatetimeIndex(["2000-02-28", "2000-03-01", "2000-02-28", "2001-02-28"])
    assert (table.original_times() == dates).all()


def test_dates_of_a_year_of_360_days_keep_their_part_of_the_year(tmp_path):
    pytest.importorskip("cftime")
    how = {"units": "days since 2001-01-01", "calendar": "360_day"}
    path = write(tmp_path / "runs.nc", [0.0, 59.0, 180.0, 360.0], np.arange(4.0), **how)
    times = read_series(path, **ROLES).times / 86_400
    # 59 days in: 30 February.
    start = 11_323.0
    wanted = start + np.array([0.0, 59 * 365 / 360, 182.5, 365.0])
    np.testing.assert_allclose(times, wanted, rtol=0, atol=1e-6)


def test_another_calendar_without_cftime_gets_a_message_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cftime", None)
    how = {"units": "days since 2000-01-01", "calendar": "360_day"}
    path = write(tmp_path / "runs.nc", [0.0, 1.0, 0.0, 1.0], np.arange(4.0), **how)
    _, problems = check_series(path, **ROLES)
    (message,) = map(str, problems)
    assert "'t' are dates of the calendar '360_day'" in message
    assert "pip install cftime" in message
    with pytest.raises(UserError, match="cftime"):
        read_series(path, **ROLES)
