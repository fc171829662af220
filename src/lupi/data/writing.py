"""A table as a file, of the kind its name says."""

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from lupi._machinery.files import write_atomically
from lupi.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet", ".nc")


def write_table(path: str | os.PathLike, frame: "pd.DataFrame") -> None:
    """Write a dataframe as CSV, Parquet or NetCDF, whole or not at all."""
    suffix = check_suffix(path)
    if suffix == ".csv":
        write_atomically(path, frame.to_csv(index=False))
    elif suffix == ".parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        write_atomically(path, buffer.getvalue())
    else:
        frame = frame.copy()
        for name in frame.columns:  # NetCDF knows no timezones: UTC
            if getattr(frame[name].dtype, "tz", None) is not None:
                frame[name] = frame[name].dt.tz_convert("UTC").dt.tz_localize(None)
        dataset = frame.rename_axis("row").to_xarray().drop_vars("row")
        write_atomically(path, bytes(dataset.to_netcdf(engine="h5netcdf")))


def check_suffix(path: str | os.PathLike) -> str:
    """The suffix of a file to be written, if it is one of those that can be."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"expected a file name ending in {', '.join(SUFFIXES)}, got {os.fspath(path)!r}: "
            "choose one of these."
        )
    return suffix
