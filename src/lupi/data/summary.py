"""What was understood of a table, in a few numbers."""

from typing import Any

import numpy as np
from jaxtyping import Float64

from lupi.data.known import expanded_names
from lupi.data.series_table import SeriesTable, original_times


def summarise(table: SeriesTable) -> dict[str, Any]:
    """Counts, lengths, the span of times, and the range of each column; ready to be JSON.

    `missing` and `coverage` are shares from 0 to 1: of the rows without a value, and of the series
    with one. Ranges of columns without any value are None. `left_out` counts what the source had
    beside, by the reason.
    """
    lengths = table.lengths
    known = {} if table.known is None else {"known": _known(table)}
    return {
        "series": len(table),
        "rows": len(table.times),
        "left_out": table.left_out,
        "lengths": _lengths(lengths),
        "time": {"column": table.columns.time, **_span(table)},
        "observed": {
            name: {**_range(table.values[:, i]), "missing": _missing(table.values[:, i])}
            for i, name in enumerate(table.columns.observed)
        },
        "privileged": {
            name: {
                **_range(table.privileged[:, i]),
                "coverage": 1.0 - _missing(table.privileged[:, i]),
            }
            for i, name in enumerate(table.columns.privileged)
        },
        **known,
    }


def _known(table: SeriesTable) -> dict[str, Any]:
    """Of each column that is known of new series too: its range or its categories, and whether it
    changes within a series."""
    assert table.known is not None
    names, found = expanded_names(table.columns.known, table.columns.categories), {}
    inside = np.delete(np.arange(len(table.known.times)), table.known.offsets[:-1])
    for name in table.columns.known:
        kinds = table.columns.categories.get(name)
        own = [f"{name}={kind}" for kind in kinds] if kinds else [name]
        values = table.known.values[:, [names.index(one) for one in own]]
        changes = bool((values[inside] != values[inside - 1]).any())
        told = {"categories": list(kinds)} if kinds else _range(values[:, 0])
        found[name] = told | {"changes": changes}
    return found


def _lengths(lengths: np.ndarray) -> dict[str, float | int | None]:
    if lengths.size == 0:
        return {"min": None, "median": None, "max": None}
    return {
        "min": int(lengths.min()),
        "median": float(np.median(lengths)),
        "max": int(lengths.max()),
    }


def _span(table: SeriesTable) -> dict[str, Any]:
    span = _range(table.times)
    if not table.columns.datetime or span["min"] is None:
        return span
    first, last = original_times(table.columns, np.array([span["min"], span["max"]]))
    return {"min": first.isoformat(), "max": last.isoformat()}


def _range(values: Float64[np.ndarray, " value"]) -> dict[str, float | None]:
    there = values[~np.isnan(values)]
    if there.size == 0:
        return {"min": None, "max": None}
    return {"min": float(there.min()), "max": float(there.max())}


def _missing(values: Float64[np.ndarray, " value"]) -> float:
    return float(np.isnan(values).mean()) if values.size else 0.0
