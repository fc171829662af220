"""What is known of new runs whatever is observed of them, as a question has it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lupi.data.known import Known, Path, expanded_names
from lupi.data.normalisation import Normalisation
from lupi.data.parsing import LARGEST
from lupi.data.problems import listed
from lupi.data.series_table import Columns, SeriesTable
from lupi.errors import UserError
from lupi.forecasting.refusals import check_labels

SLIGHTLY = 0.1
"""Of the width of what training knew: a value so far outside is as good as inside."""


def with_known(
    table: SeriesTable, given: Any, columns: Columns, *, varies: bool
) -> tuple[SeriesTable, dict[int, str]]:
    """The table with all that training knew of new runs: from its own columns, or as given apart.
    And series of which that is missing or wrong, by their place, and why.

    `columns` are those of training, and `varies` whether anything changed within its runs.
    """
    of_each = _given(given, table, columns)
    if not columns.known:
        return table, {}
    _check_alike(table, columns)
    number = len(expanded_names(columns.known, columns.categories))
    paths, reasons = [], {}
    for i, known in enumerate(of_each.values()):
        try:
            paths.append(_path(table, i, known, columns, varies))
        except UserError as error:
            reasons[i] = str(error)
            paths.append(Path(np.zeros(1), np.zeros((1, number))))
    same = {name: getattr(columns, name) for name in ("known", "events", "categories")}
    known = Known.joined(paths, number, varies=varies)
    return replace(table, columns=table.columns.model_copy(update=same), known=known), reasons


def _path(
    table: SeriesTable, i: int, given: Mapping[str, Any], columns: Columns, varies: bool
) -> Path:
    """That of one series; an error says what is wrong with it."""
    there = table.columns.known if table.known is not None else ()
    missing = [name for name in columns.known if name not in there and name not in given]
    if missing:
        raise UserError(
            f"has no {missing[0]!r}, which the model was trained to know of every run: add the "
            f"column, or give known={{{missing[0]!r}: ...}}."
        )
    path = table.known.path(i) if table.known is not None else Path(np.zeros(1), np.zeros((1, 0)))
    if len(path.times) > 1 and not varies:
        raise UserError(
            f"has one of {listed(there)} that changes within the run, which none did that the "
            "model was trained on: give one value for the run."
        )
    names = expanded_names(there, table.columns.categories)
    places = {name: place for place, name in enumerate(names)}
    for name in columns.categories.keys() & set(there):
        for kind in table.columns.categories[name]:
            unseen = kind not in columns.categories[name]
            if unseen and path.values[:, places[f"{name}={kind}"]].any():
                raise UserError(
                    f"has the category {kind!r} in the known column {name!r}, but the model was "
                    f"trained on {listed(columns.categories[name])}: leave it out, or train on "
                    "series of that category too."
                )
    numbers = {
        name: value
        for column in given
        for name, value in as_numbers(column, given[column], columns).items()
    }
    columns_of = [
        path.values[:, places[name]]
        if name in places and name not in numbers
        # Given apart, or a kind that none of these series is of.
        else np.full(len(path.times), numbers.get(name, 0.0))
        for name in expanded_names(columns.known, columns.categories)
    ]
    return Path(path.times, np.stack(columns_of, axis=1))


def unlike_training(
    table: SeriesTable, normalisation: Normalisation, *, farthest: float
) -> tuple[dict[int, str], dict[int, str]]:
    """Series of which something is known outside of what training knew, by their place, in words;
    and those that are refused for it, so many times as far out as training is wide, and why."""
    unlike: dict[int, str] = {}
    far: dict[int, str] = {}
    if table.known is None or not normalisation.known_most:
        return unlike, far
    least, most = (np.array(normalisation.known_least), np.array(normalisation.known_most))
    width = np.where(most > least, most - least, np.maximum(np.abs(most), 1.0))
    names = expanded_names(table.columns.known, table.columns.categories)
    for i in range(len(table)):
        values = table.known.path(i).values
        out = np.maximum(values - most, least - values) / width
        knot, j = np.unravel_index(np.argmax(out), out.shape)
        if out[knot, j] <= SLIGHTLY:
            continue
        what = f"has the known value {names[j]} = {values[knot, j]:g}"
        range_ = f"{least[j]:g} to {most[j]:g}" if most[j] > least[j] else f"{most[j]:g} alone"
        unlike[i] = f"{what}, where training knew {range_}"
        if out[knot, j] > farthest:
            far[i] = f"{unlike[i]}: check the column and its unit, or train on such series too."
    return unlike, far


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


def as_numbers(name: str, value: Any, columns: Columns) -> dict[str, float]:
    """A value of a column as the numbers that it becomes; an error says what is wrong with it."""
    kinds = columns.categories.get(name)
    if kinds is None:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not abs(value) <= LARGEST:  # not NaN either
            raise UserError(
                f"is given {name} = {value!r:.40}, expected a finite number: correct it."
            )
        return {name: float(value)}
    number = isinstance(value, float) and value.is_integer()
    text = str(int(value)) if number else str(value)
    if text not in kinds:
        raise UserError(
            f"is given {name} = {value!r:.40}, which is none of the categories {listed(kinds)} of "
            "training: correct it, or train on series of that category too."
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
        check_labels("known", given, table)
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
