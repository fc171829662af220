"""What is asked of a forecaster: observations of new series, and times; checked at the door."""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lupi.data.normalisation import Normalisation, series_starts
from lupi.data.parsing import parse_times
from lupi.data.problems import shown
from lupi.data.reading import column_names, read_series
from lupi.data.series_table import Columns, SeriesTable, original_times
from lupi.errors import UserError
from lupi.forecasting.known import with_known

LATEST = 1.1
"""In spans of the training data: observations after that are refused."""

STRANGE = 20
"""Standard deviations of the training data from its mean: values beyond are refused."""

FARTHEST = 64
"""Spans of the training data beyond which a forecast is refused."""

NUM_TIMES = 100
"""Times of a forecast where none are given."""


class Question(NamedTuple):
    """Series, each with its observations and the times to be forecast."""

    table: SeriesTable
    began: Float[np.ndarray, " series"]
    """When each series began, as the table counts time."""
    times: list[np.ndarray]
    """Of each series, as the table counts time."""
    privileged: Float[np.ndarray, "series privileged"] | None = None
    """What is known of them all the same, in original units; NaN where nothing is."""


class Trained(NamedTuple):
    """What must be known of a forecaster's training to check a question."""

    columns: Columns
    normalisation: Normalisation
    gaps: bool
    """Whether values were missing."""


def read_question(
    observations: Any,
    times: Any,
    starts: Mapping[Any, Any] | None,
    privileged: Mapping[Any, Any] | None,
    known: Any,
    trained: Trained,
) -> Question:
    """The series and times of a question, in the table's terms."""
    question = _read_question(observations, times, starts, trained)
    varies = trained.normalisation.num_knots > 1
    table = with_known(question.table, known, trained.columns, varies=varies)
    question = question._replace(table=table)
    if privileged is None:
        return question
    return question._replace(privileged=_read_privileged(privileged, question.table, trained))


def _read_question(observations, times, starts, trained: Trained) -> Question:
    if observations is None:
        return _without_observations(times, starts, trained)
    table = _read(observations, trained)
    began = _parse_starts(table, starts)
    _check_seen(table, began, trained.normalisation)
    return Question(table, began, _read_times(table, times, began, trained.normalisation))


def _without_observations(times: Any, starts: Any, trained: Trained) -> Question:
    """One series of which nothing has been seen."""
    columns = trained.columns.model_copy(update={"series": None, "privileged": ()})
    start = 0.0
    if trained.normalisation.own_clock:
        given = next(iter(starts.values())) if starts else times
        if given is None or isinstance(given, Mapping):
            raise UserError(
                "dates count from the first observation of a series, and there is none: give a "
                "list of times; the first of them is taken for the beginning."
            )
        start = _parse_wanted(given, columns).min()
    table = SeriesTable(
        columns,
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
        np.zeros(0),
        np.zeros((0, len(columns.observed))),
        np.zeros((1, 0)),
    )
    began = np.array([start])
    return Question(table, began, _read_times(table, times, began, trained.normalisation))


def _read(observations: Any, trained: Trained) -> SeriesTable:
    columns, table = trained.columns, observations
    if not isinstance(table, SeriesTable):
        there = set(column_names(observations)) if columns.known else set()
        table = read_series(
            observations,
            series=_series_column(observations, columns.series),
            time=columns.time,
            observed=columns.observed,
            known=[name for name in columns.known if name in there],
            events=[name for name in columns.events if name in there],
            categories=columns.categories,
            training=False,
        )
    table = _in_trained_units(table, columns)
    if table.columns.observed != columns.observed:
        raise UserError(
            f"the observations have the columns {', '.join(table.columns.observed)}, the model "
            f"was trained on {', '.join(columns.observed)}: give these, in this order."
        )
    if table.columns.datetime != columns.datetime:
        kinds = {True: "dates", False: "numbers"}
        raise UserError(
            f"the times of the observations are {kinds[table.columns.datetime]}, the model was "
            f"trained on {kinds[columns.datetime]}: give {kinds[columns.datetime]}."
        )
    if np.isnan(table.values).any() and not trained.gaps:
        raise UserError(
            "some observed values are missing, but the model was trained on series without "
            "gaps and cannot know what one means: drop those rows, or train on data with gaps."
        )
    return table


def _read_privileged(given: Any, table: SeriesTable, trained: Trained) -> np.ndarray:
    """Privileged values of each series, NaN where none is given."""
    names, labels = trained.columns.privileged, table.labels.tolist()
    expected = (
        f"expected a number for each of {', '.join(names)} (or some of them), or of several series "
        "a dictionary of these by series"
        if names
        else "the model was trained without privileged columns, so none can be given"
    )
    if not isinstance(given, Mapping) or not names:
        raise UserError(f"`privileged`: {expected}; got {given!r:.80}.")
    by_series = given if any(isinstance(v, Mapping) for v in given.values()) else None
    of_all = dict.fromkeys(labels, given) if by_series is None else by_series
    unknown = [label for label in of_all if label not in labels]
    if unknown:
        raise UserError(
            f"`privileged` names the series {shown(unknown[0])}, which is not among the "
            f"observations ({', '.join(map(shown, labels[:5]))}): correct its label."
        )
    values = np.full((len(labels), len(names)), np.nan)
    for label, known in of_all.items():
        for name, value in known.items():
            if name not in names or not isinstance(value, int | float | np.number):
                raise UserError(f"`privileged`: {expected}; got {name!r} = {value!r:.40}.")
            values[labels.index(label), names.index(name)] = value
    return values


def _in_trained_units(table: SeriesTable, columns: Columns) -> SeriesTable:
    """The table with the units of training as its labels, unless it says that it has others."""
    for name, unit in table.columns.units.items():
        expected = columns.units.get(name, unit)
        if unit != expected:
            raise UserError(
                f"the column {name!r} of the observations is in {unit}, the model was trained in "
                f"{expected}: convert it, or correct its attribute."
            )
    same = {"units": columns.units, "limits": columns.limits}
    return replace(table, columns=table.columns.model_copy(update=same))


def _series_column(observations: Any, series: str | None) -> str | None:
    """The series column, or nothing where the observations are of one series and have none."""
    names = column_names(observations)
    if series is None or series in names:
        return series
    close = difflib.get_close_matches(series.casefold(), [n.casefold() for n in names], cutoff=0.7)
    if close:
        raise UserError(
            f"expected the series column {series!r}, or none for one series, got the columns "
            f"{', '.join(names)}: rename the one that names the series."
        )
    return None


def _check_seen(table: SeriesTable, began: np.ndarray, normalisation: Normalisation) -> None:
    """Refuse observations that are far from all the model has learnt from."""
    series = np.repeat(np.arange(len(table)), table.lengths)
    times = normalisation.to_model_times(table.times, began[series])
    for row in np.flatnonzero((times < -1e-6) | (times > LATEST)):
        begin = normalisation.time_start
        begin += began[series[row]] if normalisation.own_clock else 0.0
        bounds = [table.times[row], begin, begin + normalisation.time_scale]
        seen, first, last = original_times(table.columns, np.array(bounds))
        raise UserError(
            f"series {shown(table.labels[series[row]])} has an observation at {seen}, but the "
            f"model has learnt from {first} to {last}: leave it out, check the unit of time, or "
            "train on series of that length."
        )
    for name, limit in table.columns.limits.items():
        column = table.values[:, table.columns.observed.index(name)]
        for row in np.flatnonzero(limit.broken(column)):
            raise UserError(
                f"series {shown(table.labels[series[row]])} has {name} = {column[row]:g}, but it "
                f"is {limit}: check the column and its unit, or leave the value out."
            )
    values = normalisation.to_model_values(table.values)
    for row, j in np.argwhere(np.abs(values) > STRANGE):
        name, mean = table.columns.observed[j], normalisation.observed_mean[j]
        raise UserError(
            f"series {shown(table.labels[series[row]])} has {name} = {table.values[row, j]:g}, "
            f"more than {STRANGE} standard deviations from the training mean of {mean:g}: check "
            "the column and its unit, or leave the value out."
        )


def _parse_starts(table: SeriesTable, starts: Mapping[Any, Any] | None) -> np.ndarray:
    """When each series began, as the table counts time."""
    began = series_starts(table)
    if starts is None:
        return began
    given = {label: _parse_wanted(starts[label], table.columns)[0] for label in starts}
    return np.array(
        [given.get(label, first) for label, first in zip(table.labels, began, strict=True)]
    )


def _read_times(
    table: SeriesTable, times: Any, began: np.ndarray, normalisation: Normalisation
) -> list[np.ndarray]:
    """The times wanted of each series, as the table counts them."""
    begins = normalisation.time_start + (began if normalisation.own_clock else 0.0 * began)
    if times is None:
        return [np.linspace(begin, begin + normalisation.time_scale, NUM_TIMES) for begin in begins]
    if isinstance(times, Mapping):
        missing = [label for label in table.labels.tolist() if label not in times]
        if missing:
            raise UserError(
                f"`times` has none for series {shown(missing[0])}: add them, or give one list."
            )
        wanted = [_parse_wanted(times[label], table.columns) for label in table.labels.tolist()]
    else:
        wanted = [_parse_wanted(times, table.columns)] * len(table)
    for begin, some in zip(begins, wanted, strict=True):
        _check_times(some, begin, table.columns, normalisation)
    return [np.maximum(some, begin) for begin, some in zip(begins, wanted, strict=True)]


def _check_times(
    wanted: np.ndarray, begin: float, columns: Columns, normalisation: Normalisation
) -> None:
    first, last = (
        (time - begin) / normalisation.time_scale for time in (wanted.min(), wanted.max())
    )
    if first >= -1e-6 and last <= FARTHEST:
        return
    earliest, latest, begins = original_times(
        columns, np.array([wanted.min(), wanted.max(), begin])
    )
    if first < -1e-6:
        raise UserError(
            f"times go back to {earliest}, but the model has learnt from {begins} on: ask for "
            "later times, or train on series that begin earlier."
        )
    raise UserError(
        f"times go on to {latest}, more than {FARTHEST} times the span the model was trained "
        "on: a forecast that far would mean nothing."
    )


def _parse_wanted(times: Any, columns: Columns) -> np.ndarray:
    """Times of a list as a table holds them; dates without a timezone are in the table's."""
    import pandas as pd

    if np.ndim(times) > 1:
        raise UserError(f"times must be a list, got an array of shape {np.shape(times)}.")
    parsed = parse_times(pd.Series(np.atleast_1d(times)))
    expected = "dates" if columns.datetime else "numbers"
    if parsed.datetime and columns.timezone is not None and parsed.timezone is None:
        local = pd.to_datetime(parsed.values, unit="s").tz_localize(columns.timezone)
        parsed = parsed._replace(values=local.as_unit("us").asi8 / 1e6)
    if parsed.datetime != columns.datetime or any(c.rows.any() for c in parsed.complaints):
        raise UserError(f"expected times that are {expected}, as in training, got {times!r:.80}.")
    if not len(parsed.values) or not np.isfinite(parsed.values).all():
        raise UserError(f"times must be one or more finite {expected}, got {times!r:.80}.")
    return parsed.values
