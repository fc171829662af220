"""Whatever holds a table, opened: a file, a dataframe, a Dataset or plain arrays.

Nothing is checked here but that it can be read; pandas and its friends are imported when used.
"""

import csv
import gzip
import os
import re
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lupi.data.netcdf import CalendarError, open_netcdf

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".nc")

BEGINNINGS = {
    b"PAR1": "a Parquet file",
    b"\x89HDF\r\n\x1a\n": "a NetCDF (HDF5) file",
    b"CDF\x01": "a NetCDF file",
    b"CDF\x02": "a NetCDF file",
    b"CDF\x05": "a NetCDF file",
    b"\x1f\x8b": "a gzip file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip or Excel file",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
"""How files of some kinds begin, to say what a wrongly named file may be."""


class UnreadableError(Exception):
    """Why a source cannot be read at all, and in which column or at which row if that is known."""

    def __init__(self, message: str, *, column: str | None = None, row: int | None = None):
        super().__init__(message)
        self.message, self.column, self.row = message, column, row


class Source(NamedTuple):
    """A table that was opened, and is read when its columns have been looked at."""

    names: list[str]
    load: Callable[[Sequence[str]], Any]
    """The rows of some of the columns as a pandas DataFrame, numbered from 0."""
    units: dict[str, str] = {}  # noqa: RUF012
    """Of columns, where the source says them."""


def file_name(source: Any) -> str | None:
    """The path of a source, if it is a file."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


def open_source(source: Any, *, series: str | None = None) -> Source:
    """A source's columns, and a way to read them; raises `UnreadableError`.

    `series` is the column of labels: in a CSV file, where all is text, they become numbers only if
    all of them are whole numbers without leading zeros.
    """
    if isinstance(source, str | os.PathLike):
        return _open_file(Path(source), series)
    if isinstance(source, Mapping) and not _is_dataset(source):
        return _open_arrays(source)
    if _is_dataset(source):
        return _open_dataset(source)
    return _open_frame(source)


def _open_file(path: Path, series: str | None) -> Source:
    try:
        if path.is_dir():
            raise UnreadableError("expected a file, got a folder: name one file in it.")
        if not path.exists():
            raise UnreadableError("expected a file, found none: check the path.")
    except OSError as error:  # such as a name that is too long
        raise UnreadableError(f"it cannot be looked for ({error.strerror}).") from None
    suffix = next((s for s in reversed(SUFFIXES) if path.name.lower().endswith(s)), None)
    if suffix is None:
        raise UnreadableError(
            f"expected a file that ends in {', '.join(SUFFIXES)}, got {path.suffix or 'no ending'}:"
            " save it as one of these, or read it yourself and give the dataframe."
        )
    try:
        with path.open("rb") as file:
            beginning = file.read(4096)
    except OSError as error:
        raise UnreadableError(f"it cannot be opened ({error.strerror}).") from None
    if not beginning:
        raise UnreadableError("expected a table, got an empty file: save it again.")
    if suffix == ".parquet":
        return _open_parquet(path, beginning)
    if suffix == ".nc":
        return _open_netcdf(path, beginning)
    return _open_text(path, beginning, series, tabs=suffix.startswith(".tsv"))


def _not_what_its_name_says(path: Path, expected: str, beginning: bytes) -> UnreadableError:
    kinds = [kind for start, kind in BEGINNINGS.items() if beginning.startswith(start)]
    guess = kinds[0] if kinds else "text" if b"\0" not in beginning else "something else"
    return UnreadableError(
        f"expected {expected}, as the name {path.name!r} says, got {guess}: rename it, or save it "
        "again."
    )


def _open_parquet(path: Path, beginning: bytes) -> Source:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not beginning.startswith(b"PAR1"):
        raise _not_what_its_name_says(path, "a Parquet file", beginning)
    damaged = UnreadableError(
        "expected a whole Parquet file, got a damaged or truncated one: copy or save it again."
    )
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError):
        raise damaged from None

    def load(names: Sequence[str]) -> Any:
        # Labels that are text come as a dictionary and its codes: less to hold, quick to sort.
        texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
        try:
            with pq.ParquetFile(path, read_dictionary=texts) as file:
                table = file.read(columns=list(names)).replace_schema_metadata(None)
            table.validate(full=True)  # text may not be UTF-8
        except (pa.ArrowException, OSError):
            raise damaged from None
        return _from_arrow(table)

    return Source(schema.names, load)


def _from_arrow(table: Any) -> Any:
    """A table of pyarrow's as pandas has it."""
    import pyarrow as pa

    for field in table.schema:
        zone = getattr(field.type, "tz", None)
        try:
            if zone is not None:
                pa.scalar(0, field.type).as_py()
        except (pa.ArrowException, KeyError, ValueError, OSError):
            raise UnreadableError(
                f"expected dates of a timezone that is known here, got {zone!r}: write dates in "
                "UTC, or install the names of timezones (pip install tzdata).",
                column=field.name,
            ) from None
    return table.to_pandas(date_as_object=False, split_blocks=True, self_destruct=True)


def _open_netcdf(path: Path, beginning: bytes) -> Source:
    if beginning.startswith(b"\x89HDF"):
        engine = "h5netcdf"
    elif beginning.startswith(b"CDF"):
        engine = "scipy"
    else:
        raise _not_what_its_name_says(path, "a NetCDF file", beginning)

    def damaged(error: Exception) -> UnreadableError:
        if isinstance(error, CalendarError):
            return UnreadableError(f"{error}")
        return UnreadableError(
            "expected a whole NetCDF file, got one that cannot be read "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__}): copy or save "
            "it again."
        )

    # The library below raises most kinds of errors on a damaged file, none of them ours.
    try:
        if engine == "h5netcdf":
            # Alone first: h5netcdf prints a traceback of its own where h5py finds damage.
            import h5py

            with h5py.File(path, "r") as file:
                file.visititems(lambda name, item: dict(item.attrs) and None)
        with open_netcdf(path, engine) as dataset:
            names, _, units = _open_dataset(dataset)
    except Exception as error:
        raise damaged(error) from None

    def load(names: Sequence[str]) -> Any:
        try:
            with open_netcdf(path, engine, names) as dataset:
                return _open_dataset(dataset).load(names)
        except UnreadableError:
            raise
        except Exception as error:
            raise damaged(error) from None

    return Source(names, load, units)


def _open_text(path: Path, beginning: bytes, series: str | None, *, tabs: bool) -> Source:
    zipped = path.name.lower().endswith(".gz")
    expected = "text in columns" if not zipped else "a gzip file"
    if zipped != beginning.startswith(b"\x1f\x8b"):
        raise _not_what_its_name_says(path, expected, beginning)
    if not zipped and (b"\0" in beginning or beginning.startswith(tuple(BEGINNINGS))):
        raise _not_what_its_name_says(path, expected, beginning)

    def opened() -> Any:
        return gzip.open(path, "rb") if zipped else path.open("rb")

    try:
        with opened() as file:
            lines = (line.decode("utf-8-sig") for line in file)
            reader = csv.reader(lines, delimiter="\t" if tabs else ",", strict=True)
            header = next((row for row in reader if any(row)), None)
            header_lines = reader.line_num
    except UnicodeDecodeError:
        raise _not_utf8(None) from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise UnreadableError(
            f"its first line cannot be read ({error}): copy or save it again."
        ) from None
    if header is None:
        raise UnreadableError("expected a line of column names, got an empty file: save it again.")
    names = [name.strip() for name in header]

    def load(wanted: Sequence[str]) -> Any:
        return _load_text(opened, names, wanted, header_lines, series, "\t" if tabs else ",")

    return Source(names, load)


def _load_text(
    opened: Callable[[], Any],
    names: list[str],
    wanted: Sequence[str],
    header_lines: int,
    series: str | None,
    separator: str,
) -> Any:
    """Every column as text, without the spaces around it; what is nothing is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    try:
        with opened() as file:
            table = arrow_csv.read_csv(
                file,
                # One thread: only then do errors come with the number of their row.
                arrow_csv.ReadOptions(
                    column_names=names, skip_rows=header_lines, use_threads=False
                ),
                arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    include_columns=list(wanted),
                    column_types={name: pa.string() for name in wanted},
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        message = str(error)
        match = re.search(r"Row #(\d+): ", message)
        row = int(match[1]) - header_lines if match else None
        if "UTF8" in message:
            raise _not_utf8(row) from None
        columns = re.search(r"Expected (\d+) columns, got (\d+)", message)
        if columns:
            raise UnreadableError(
                f"expected {columns[1]} values, as in the header, got {columns[2]}: add or remove "
                "separators, or put quotes around text that holds one.",
                row=row,
            ) from None
        raise UnreadableError(f"it cannot be read ({message}): copy or save it again.") from None

    frame = {}
    for name in wanted:
        text = pc.call_function("utf8_trim_whitespace", [table[name].combine_chunks()])
        frame[name] = (_labels_as_numbers(text) if name == series else text).to_pandas()
    import pandas as pd

    return pd.DataFrame(frame, copy=False)


def _labels_as_numbers(text: Any) -> Any:
    """Labels as a dictionary and its codes; as whole numbers if none loses anything by it."""
    import pyarrow as pa

    encoded = text.dictionary_encode()
    try:
        numbers = encoded.dictionary.cast(pa.int64())
    except pa.ArrowInvalid:
        return encoded
    if not numbers.cast(pa.string()).equals(encoded.dictionary):
        return encoded  # such as 007, which is not 7
    return pa.DictionaryArray.from_arrays(encoded.indices, numbers)


def _not_utf8(row: int | None) -> UnreadableError:
    return UnreadableError(
        "expected text in UTF-8, got another encoding: save it as UTF-8 (in a spreadsheet: "
        "'CSV UTF-8').",
        row=row,
    )


def _is_dataset(source: Any) -> bool:
    xarray = sys.modules.get("xarray")  # without it being loaded, nobody can have a Dataset
    return xarray is not None and isinstance(source, xarray.Dataset)


def _open_dataset(dataset: Any) -> Source:
    names = [str(name) for name in dict.fromkeys([*dataset.variables, *dataset.sizes])]

    def load(wanted: Sequence[str]) -> Any:
        dimensions = {
            name: dataset[name].dims if name in dataset.variables else (name,) for name in wanted
        }
        together = {dimension for found in dimensions.values() for dimension in found}
        widest = max(dimensions.values(), key=len)
        if len(together) > 2 or set(widest) != together:
            described = ", ".join(
                f"{name} ({', '.join(map(str, found))})" for name, found in dimensions.items()
            )
            raise UnreadableError(
                "expected variables along one dimension (long format), or along series and time, "
                f"got {described}: choose from the other dimensions first, or give what is known "
                "of each series as the privileged table."
            )
        variables = [name for name in wanted if name not in dataset.sizes]
        return dataset[variables].to_dataframe().reset_index()[list(wanted)]

    units = {str(name): dataset[name].attrs.get("units") for name in dataset.variables}
    return Source(names, load, {name: unit for name, unit in units.items() if _is_unit(unit)})


def _is_unit(unit: Any) -> bool:
    """Whether it says something: `1` is how NetCDF calls a number without a unit."""
    return isinstance(unit, str) and unit.strip() not in ("", "1")


def _open_arrays(arrays: Mapping) -> Source:
    import pandas as pd

    arrays = {str(name): values for name, values in arrays.items()}

    def load(wanted: Sequence[str]) -> Any:
        columns = {
            name: arrays[name] if isinstance(arrays[name], pd.Series) else _array(arrays[name])
            for name in wanted
        }
        shapes = {name: np.shape(column) for name, column in columns.items()}
        if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
            described = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise UnreadableError(
                f"expected columns of one length, got the shapes {described}: give one value for "
                "each row in every column."
            )
        return pd.DataFrame({name: pd.Series(c).array for name, c in columns.items()}, copy=False)

    return Source(list(arrays), load)


def _array(values: Any) -> Any:
    """A column as an array; of lists, None and text pandas makes more than NumPy does."""
    import pandas as pd

    if isinstance(values, np.ma.MaskedArray):
        # Not as numbers: whole ones stay so, beside those that are not there.
        objects = values.data.astype(object)
        objects[np.ma.getmaskarray(values)] = None
        return pd.Series(objects).array if objects.ndim == 1 else objects
    if isinstance(values, list | tuple):
        return pd.Series(values).array
    values = np.asarray(values)
    # Records and bytes as objects, which are looked at later.
    return values.astype(object) if values.dtype.kind in "SV" else values


def _open_frame(source: Any) -> Source:
    import narwhals as nw
    import pandas as pd
    import pyarrow as pa

    if isinstance(source, pd.DataFrame):
        return _open_pandas(source)
    if isinstance(source, pa.Table):  # narwhals wants all names distinct, also of unused columns
        return Source(
            source.column_names,
            lambda wanted: _from_arrow(source.select(list(wanted)).replace_schema_metadata(None)),
        )
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise UnreadableError(
            "expected a path, a dataframe, an xarray Dataset or a dictionary of columns, got "
            f"{type(source).__name__}."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return Source(frame.columns, lambda wanted: frame.select(wanted).to_pandas())


def _open_pandas(frame: Any) -> Source:
    import pandas as pd

    if frame.columns.nlevels > 1:
        raise UnreadableError(
            f"expected one name for each column, got {frame.columns.nlevels} (a MultiIndex): join "
            "them, or choose one level, such as frame.columns.get_level_values(0)."
        )
    frame = frame.rename(columns=str)
    levels = {str(name): i for i, name in enumerate(frame.index.names) if name is not None}
    levels = {name: i for name, i in levels.items() if name not in frame.columns}

    def load(wanted: Sequence[str]) -> Any:
        columns = {
            name: frame.index.get_level_values(levels[name]).array
            if name in levels
            else frame[name].array
            for name in wanted
        }
        return pd.DataFrame(columns, copy=False)

    return Source([*levels, *frame.columns], load)
