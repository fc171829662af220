"""What is known of new runs whatever is observed of them, as a question has it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lupi.data.known import Known, Path, expanded_names
from lupi.data.parsing import LARGEST
from lupi.data.problems import listed, shown
from lupi.data.series_table import Columns, SeriesTable
from lupi.errors import UserError
from lupi.forecasting.refusals import check_labels


def with_known(table: SeriesTable, given: Any, columns: Columns, *, varies: bool) -> SeriesTable:
    """The table with all that training knew of new runs: from its own columns, or as given apart.

    `columns` are those of training, and `varies` whether anything changed within its runs.
    """
    of_each = _given(given, table, columns)
    if not columns.known:
        return table
    there = table.columns.known if table.known is not None else ()
    _check_alike(table, columns)
    names = expanded_names(there, table.columns.categories)
    places = {name: place for place, name in enumerate(names)}
    wanted = expanded_names(columns.known, columns.categories)
    paths = []
    for i, (label, known) in enumerate(of_each.items()):
        missing = [name for name in columns.known if name not in there and name not in known]
        if missing:
            raise UserError(
                f"series {shown(label)} has no {missing[0]!r}, which the model was trained to know "
                f"of every run: add the column, or give known={{{missing[0]!r}: ...}}."
            )
        path = (
            table.known.path(i) if table.known is not None else Path(np.zeros(1), np.zeros((1, 0)))
        )
        if len(path.times) > 1 and not varies:
            raise UserError(
                f"series {shown(label)}: one of {listed(there)} changes within the run, but did "
                "not in any run that the model was trained on: give one value for the run."
            )
        numbers = {
            name: value
            for column in known
            for name, value in _numbers(column, known[column], columns).items()
        }
        columns_of = [
            path.values[:, places[name]]
            if name in places and name not in numbers
            # Given apart, or a kind that none of these series is of.
            else np.full(len(path.times), numbers.get(name, 0.0))
            for name in wanted
        ]
        paths.append(Path(path.times, np.stack(columns_of, axis=1)))
    return replace(
        table,
        columns=table.columns.model_copy(
            update={
                "known": columns.known,
                "events": columns.events,
                "categories": columns.categories,
            }
        ),
        known=Known.joined(paths, len(wanted), varies=varies),
    )


def _check_alike(table: SeriesTable, columns: Columns) -> None:
    """Raise if known columns of a table mean something else than they did in training."""
    for name in table.columns.known:
        kinds, trained = (one.categories.get(name) for one in (table.columns, columns))
        if (kinds is None) != (trained is None) or (name in table.columns.events) != (
            name in columns.events
        ):
            raise UserError(
                f"the known column {name!r} was read as another kind of column than in training: "
                "read the table with the same `known`, `events` and `categories`."
            )
        unseen = sorted(set(kinds or ()) - set(trained or ()))
        if unseen:
            raise UserError(
                f"the known column {name!r} has the category {unseen[0]!r}, but the model was "
                f"trained on {listed(trained or ())}: leave such series out, or train on some."
            )


def _numbers(name: str, value: Any, columns: Columns) -> dict[str, float]:
    """A value of a column as the numbers that it becomes."""
    kinds = columns.categories.get(name)
    if kinds is None:
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise UserError(f"`known`: expected a number for {name!r}, got {value!r:.40}.")
        if not abs(value) <= LARGEST:  # not NaN either
            raise UserError(f"`known`: expected a finite number for {name!r}, got {value!r:.40}.")
        return {name: float(value)}
    number = isinstance(value, float) and value.is_integer()
    text = str(int(value)) if number else str(value)
    if text not in kinds:
        raise UserError(
            f"`known`: expected one of the categories {listed(kinds)} for {name!r}, got "
            f"{value!r:.40}: the model has seen no other."
        )
    return {f"{name}={kind}": float(kind == text) for kind in kinds}


def _given(given: Any, table: SeriesTable, columns: Columns) -> dict[Any, Mapping[str, Any]]:
    """What is given apart, of each series by its label."""
    labels = table.labels.tolist()
    if given is None:
        return {label: {} for label in labels}
    if not isinstance(given, Mapping):
        raise UserError(
            "`known`: expected a dictionary such as {'dose': 3}, or one for each series, got "
            f"{type(given).__name__}."
        )
    by_label = given and all(isinstance(value, Mapping) for value in given.values())
    if by_label:
        check_labels("known", given, labels)
    if given and not columns.known:
        raise UserError(
            "`known`: the model was trained without columns known of new runs. A privileged value "
            "that is known all the same is given as `privileged`."
        )
    of_each = {label: given.get(label, {}) if by_label else given for label in labels}
    for known in of_each.values():
        for name in known:
            if name not in columns.known:
                raise UserError(
                    f"`known`: expected some of the columns {listed(columns.known)} that training "
                    f"knew of every run, got {name!r}."
                )
    return of_each
