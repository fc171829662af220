"""Columns as all that follows knows them, whoever made them: one value in each row."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lupi.data.problems import Problems


def with_plain_columns(frame: Any, problems: Problems) -> Any:
    """The table in this machine's order of bytes; rows with several values or bytes are a
    problem."""
    import pandas as pd

    columns = {}
    for name in frame.columns:
        columns[name] = _plain(frame[name])
        problems.add_rows(
            name,
            _not_single(columns[name]),
            columns[name].array,
            "one value in each row (a number, text or a date)",
            "make columns of its parts, or text of bytes",
        )
    return pd.DataFrame(columns, copy=False)


def _plain(column: Any) -> Any:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind in "OSV":  # lists, bytes, nothing at all
        return column.astype(object)
    if isinstance(dtype, np.dtype) and not dtype.isnative:
        return column.astype(dtype.newbyteorder("="))
    return column


def _not_single(column: Any) -> np.ndarray:
    """Which rows hold a list or the like, or bytes."""
    import pandas as pd

    nothing = np.zeros(len(column), bool)
    if column.dtype != object:
        return nothing
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind != "bytes" and not kind.startswith("mixed"):
        return nothing
    several = (Iterable, memoryview, np.void)
    return np.array(
        [isinstance(one, several) and not isinstance(one, str) for one in column.array], bool
    )
