"""Columns that are known of new series too, and columns of categories, read from a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from lupi.data.known import (
    Known,
    as_text,
    category_codes,
    expanded_names,
    make_path,
    one_hot,
)
from lupi.data.parsing import Labels, parse_numbers, text_of
from lupi.data.problems import Problems, listed, shown
from lupi.data.series_table import Columns

MOST_CATEGORIES = 64
"""Of a column; with more it is rather a label than a kind."""

Categories = str | Sequence[str] | Mapping[str, Sequence[str]]
"""Names of columns that hold categories, or those of each."""


def find_categories(
    frame: Any, names: Sequence[str], given: Categories, problems: Problems
) -> dict[str, tuple[str, ...]]:
    """The categories of each column that has any: of those named, and of columns of text hardly any
    of which is a number."""
    if isinstance(given, Mapping):
        return {name: tuple(given[name]) for name in names if name in given}
    given, found = (given,) if isinstance(given, str) else given, {}
    for name in names:
        text, there = as_text(frame[name])
        if name not in given and not _is_text(frame[name], there):
            continue
        kinds = tuple(sorted(set(text[there].tolist())))
        if len(kinds) > MOST_CATEGORIES:
            problems.add(
                f"expected at most {MOST_CATEGORIES} categories, got {len(kinds)}: group them, or "
                "leave the column out.",
                column=name,
            )
        found[name] = kinds[:MOST_CATEGORIES]
    return found


def _is_text(column: Any, there: np.ndarray) -> bool:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        return True
    if pd.api.types.is_numeric_dtype(column.dtype) or not there.any():
        return False
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return False
    text = text_of(column[there]).str.strip()
    numbers = np.asarray(pd.to_numeric(text, errors="coerce"), float)
    return bool(np.isnan(numbers).mean() > 0.5)


def read_columns(
    frame: Any,
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    problems: Problems,
    excused: Bool[np.ndarray, " row"] | bool = False,
    of_text: str = "",
) -> Float64[np.ndarray, "row number"]:
    """Columns as numbers, NaN where there is none; one of categories as one for each of them. In
    excused rows an unknown category is none. `of_text` is what to do with a column of text instead
    of numbers, beside correcting it."""
    parts = [np.zeros((len(frame), 0))]
    for name in names:
        column = frame[name]
        if name in categories:
            codes, unknown = category_codes(column, categories[name])
            problems.add_rows(
                name,
                unknown & ~np.asarray(excused),
                column.array,
                f"one of the categories {listed(categories[name])}",
                "correct it, or train on series of that category too",
            )
            parts.append(one_hot(codes, len(categories[name])))
        else:
            parsed = parse_numbers(column)
            more = of_text if parsed.complaints and _is_text(column, as_text(column)[1]) else ""
            for complaint in parsed.complaints:
                advice = complaint.advice + more
                problems.add_rows(name, complaint.rows, column.array, complaint.expected, advice)
            parts.append(parsed.values[:, None])
    return np.concatenate(parts, axis=1)


def read_known(
    frame: Any,
    labels: Labels,
    times: Float64[np.ndarray, " row"],
    needed: Bool[np.ndarray, " series"],
    training: bool,
    columns: Columns,
    problems: Problems,
) -> tuple[Known, dict[int, str], Bool[np.ndarray, " row"]]:
    """The path of each series through all of its rows, those without an observed value too; unfit
    series; and which rows tell anything. Of series that are not needed nothing has to be known.

    Where new series are read, those of which something is not known, or of a category that is not
    among those given, are said to be unfit, by their place, with the reason; if all are, and in
    training, that is a problem.
    """
    unfit = {} if training else _unknown_kinds(frame, labels, columns)
    excused = np.isin(labels.codes, list(unfit)) & (len(unfit) < len(labels.labels))
    numbers = read_columns(frame, columns.known, columns.categories, problems, excused)
    names = expanded_names(columns.known, columns.categories)
    summed = np.array([name in columns.events for name in names])
    held = summed | np.array([name not in columns.known for name in names])
    paths, missing = [], {}
    rows = np.flatnonzero((labels.codes >= 0) & ~np.isnan(times))
    rows = rows[np.lexsort((times[rows], labels.codes[rows]))]
    ends = np.searchsorted(labels.codes[rows], np.arange(len(labels.labels) + 1))
    for i in range(len(labels.labels)):
        own = rows[ends[i] : ends[i + 1]]
        values = numbers[own]
        values[:, summed] = np.cumsum(np.nan_to_num(values[:, summed]), axis=0)
        if len(own) and np.isnan(values).all(axis=0).any():
            absent = names[int(np.isnan(values).all(axis=0).argmax())]
            if needed[i]:
                missing[i] = absent.partition("=")[0]
            values = np.nan_to_num(values)
        if len(own) == 0:
            own, values = np.zeros(1, int), np.zeros((1, len(names)))
        paths.append(make_path(times[own], values, held))
    known = Known.joined(paths, len(names))
    telling = np.zeros(len(frame), bool)
    telling[rows] = ~np.isnan(numbers[rows]).all(axis=1)
    if not training and len(unfit.keys() | missing) < len(labels.labels):
        said = "has no value in the known column {!r}: fill it in, or leave the series out."
        return known, {i: said.format(name) for i, name in missing.items()} | unfit, telling
    for i, name in missing.items():
        problems.add(
            "expected a value in some row of every series, got none: fill it in, or leave the "
            "series out. What is not known of new series is a privileged column.",
            column=name,
            series=None if columns.series is None else str(labels.labels[i]),
        )
    return known, {}, telling


def _unknown_kinds(frame: Any, labels: Labels, columns: Columns) -> dict[int, str]:
    """Series of a category that is not among those of its column, by their place, and which."""
    found = {}
    for name in columns.known:
        if name not in columns.categories:
            continue
        _, unknown = category_codes(frame[name], columns.categories[name])
        for row in np.flatnonzero(unknown & (labels.codes >= 0)).tolist():
            found[int(labels.codes[row])] = (
                f"has {shown(str(frame[name].array[row]))} in the known column {name!r}, which is "
                f"none of the categories {listed(columns.categories[name])} of training: correct "
                "it, or train on series of that category too."
            )
    return found
