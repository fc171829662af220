"""What is asked of a forecaster: observations of new series, and times; checked at the door."""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lupi.data.clocks import clock_origins
from lupi.data.normalisation import Normalisation
from lupi.data.parsing import parse_times
from lupi.data.problems import shown
from lupi.data.reading import column_names, read_series
from lupi.data.series_table import Columns, SeriesTable, original_times
from lupi.data.starts import in_timezone
from lupi.errors import UserError
from lupi.forecasting.known import as_numbers, unlike_training, with_known
from lupi.forecasting.refusals import check_labels, refusal

LATEST = 1.1
"""In spans of the training data: observations after that are refused."""

STRANGE = 20.0
"""Standard deviations of the training data from its mean: values beyond are refused."""

FARTHEST = 64
"""Spans of the training data beyond which a forecast is refused."""

MOST_SEEN = 4096
"""Observations of a series that a forecast is made from; of more, as many at even distances."""

NUM_TIMES = 100
"""Times of a forecast where none are given."""


class Question(NamedTuple):
    """Series, each with its observations and the times to be forecast."""

    table: SeriesTable
    origins: Float[np.ndarray, " series"]
    """Where the clock of each series begins, as the table counts time."""
    times: list[np.ndarray]
    """Of each series, as the table counts time."""
    privileged: Float[np.ndarray, "series privileged"] | None = None
    """What is known of them all the same, in original units; NaN where nothing is."""
    refused: Mapping[Any, str] = {}
    """Other series, with the reason why they cannot be forecast."""
    unlike: Mapping[Any, str] = {}
    """What is known of series, by their labels, that was known of none in training."""


class Trained(NamedTuple):
    """What must be known of a forecaster's training to check a question."""

    columns: Columns
    normalisation: Normalisation
    gaps: bool
    """Whether values were missing."""


def read_question(
    observations: Any,
    times: Any,
    starts: Mapping[Any, Any] | str | None,
    privileged: Mapping[Any, Any] | None,
    known: Any,
    trained: Trained,
) -> Question:
    """The series and times of a question, in the table's terms; without those to be refused."""
    _check_starts(observations, starts, trained)
    table, began = (
        _nothing_seen(times, starts, trained)
        if observations is None
        else _read(observations, starts, trained)
    )
    varies = trained.normalisation.num_knots > 1
    table, unknown = with_known(table, known, trained.columns, varies=varies)
    origins = _origins(table.columns, began, trained)
    wanted = _read_times(table, times, origins, trained.normalisation)
    values, wrong = _read_privileged(privileged, table, trained)
    unlike, far = unlike_training(table, trained.normalisation, farthest=STRANGE)
    reasons = (  # of several the last
        _wrong_times(table, wanted, origins, trained.normalisation)
        | _wrong_seen(table, origins, trained.normalisation)
        | _wrong_gaps(table, trained)
        | _wrong_starts(table, began)
        | wrong
        | far
        | unknown
    )
    if len(reasons) == len(table):
        more = f" None of the {len(table)} series can be forecast." if len(table) > 1 else ""
        raise UserError(refusal(table.columns, table.labels[0], reasons[0]) + more)
    labels, begins = table.labels.tolist(), _begins(origins, trained.normalisation)
    kept = np.array([i for i in range(len(table)) if i not in reasons])
    return Question(
        table[kept] if reasons else table,
        origins[kept],
        [np.maximum(wanted[i], begins[i]) for i in kept.tolist()],
        None if values is None else values[kept],
        {labels[i]: reasons[i] for i in sorted(reasons)} | table.unfit,
        {labels[i]: unlike[i] for i in kept.tolist() if i in unlike},
    )


def thinned(table: SeriesTable) -> SeriesTable:
    """The series with no more observations than a forecast is made from, the first and the last
    among them."""
    long = np.flatnonzero(table.lengths > MOST_SEEN)
    if not long.size:
        return table
    kept = np.ones(len(table.times), bool)
    for i in long.tolist():
        rows = slice(*table.offsets[i : i + 2])
        kept[rows] = False
        places = np.linspace(0, table.lengths[i] - 1, MOST_SEEN).round().astype(int)
        kept[rows.start + places] = True
    return table.rows(kept)


def _nothing_seen(times: Any, starts: Any, trained: Trained) -> tuple[SeriesTable, np.ndarray]:
    """One series of which nothing has been seen."""
    columns = trained.columns.model_copy(update={"series": None, "privileged": ()})
    start = 0.0
    if trained.normalisation.own_clock and not starts:
        if times is None or isinstance(times, Mapping):
            raise UserError(
                "dates count from the first observation of a series, and there is none: give a "
                "list of times; the first of them is taken for the beginning."
            )
        start = _parse_wanted(times, columns).min()
    table = SeriesTable(
        columns,
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
        np.zeros(0),
        np.zeros((0, len(columns.observed))),
        np.zeros((1, 0)),
        starts=np.array([start]),
    )
    return table, _parse_starts(table, starts)


def _read(observations: Any, starts: Any, trained: Trained) -> tuple[SeriesTable, np.ndarray]:
    """The observations, and when each series began."""
    columns, table = trained.columns, observations
    if not isinstance(table, SeriesTable):
        names = column_names(observations)
        said = starts if isinstance(starts, str) else columns.start
        there = isinstance(starts, str) or said in names
        table = read_series(
            observations,
            series=_series_column(names, columns.series),
            time=columns.time,
            observed=columns.observed,
            known=[name for name in columns.known if name in names],
            events=[name for name in columns.events if name in names],
            categories=columns.categories,
            training=False,
            start=said if there else None,
        )
    check_columns(table, columns)
    return _in_trained_units(table, columns), _parse_starts(table, starts)


def check_columns(table: SeriesTable, columns: Columns) -> None:
    """Raise if the observations of a table are not of the columns and kind of times of training."""
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


def _read_privileged(
    given: Any, table: SeriesTable, trained: Trained
) -> tuple[np.ndarray | None, dict[int, str]]:
    """Privileged values of each series, NaN where none is given. And series with one that is wrong
    or far from all that the model has learnt from, by their place, and why they are refused."""
    if given is None:
        return None, {}
    names, labels = trained.columns.privileged, table.labels.tolist()
    sources = trained.columns.privileged_sources
    expected = (
        f"expected a value for each of {', '.join(sources)} (or some of them), or of several "
        "series a dictionary of these by series"
        if names
        else "the model was trained without privileged columns, so none can be given"
    )
    if not isinstance(given, Mapping) or not names:
        raise UserError(f"`privileged`: {expected}; got {given!r:.80}.")
    by_series = given if any(isinstance(v, Mapping) for v in given.values()) else None
    of_all = dict.fromkeys(labels, given) if by_series is None else by_series
    check_labels("privileged", of_all, table)
    values, reasons = np.full((len(labels), len(names)), np.nan), {}
    for label, known in of_all.items():
        if not isinstance(known, Mapping):
            raise UserError(f"`privileged`: {expected}; got {label!r} = {known!r:.40}.")
        for name, value in known.items():
            if name not in (*names, *sources):
                raise UserError(f"`privileged`: {expected}; got {name!r} = {value!r:.40}.")
            missing = isinstance(value, float | np.floating) and np.isnan(value)
            if missing or label not in labels:  # or refused already
                continue
            i = labels.index(label)
            try:
                for one, number in as_numbers(name, value, trained.columns).items():
                    values[i, names.index(one)] = number
            except UserError as error:
                reasons[i] = str(error)
    with np.errstate(over="ignore"):
        far = np.abs(trained.normalisation.to_model_privileged(values)) > STRANGE
    means = trained.normalisation.privileged_mean
    return values, {
        i: f"is given {names[j]} = {values[i, j]:g}, more than {STRANGE:.0f} standard deviations "
        f"from the training mean of {means[j]:g}: check its unit, or leave it out."
        for i, j in np.argwhere(far).tolist()
    } | reasons


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


def _series_column(names: list[str], series: str | None) -> str | None:
    """The series column, or nothing where the observations are of one series and have none."""
    if series is None or series in names:
        return series
    close = difflib.get_close_matches(series.casefold(), [n.casefold() for n in names], cutoff=0.7)
    if close:
        raise UserError(
            f"expected the series column {series!r}, or none for one series, got the columns "
            f"{', '.join(names)}: rename the one that names the series."
        )
    return None


def _origins(columns: Columns, began: np.ndarray, trained: Trained) -> np.ndarray:
    """Where the clocks of series that began then stand at 0, by the clock of training.

    In the timezone of training too; dates without one are taken as the wall shows them.
    """
    zone = columns.timezone and (trained.columns.timezone or columns.timezone)
    clock = {"clock": trained.columns.clock, "timezone": zone}
    return clock_origins(columns.model_copy(update=clock), began)


def _check_starts(observations: Any, starts: Any, trained: Trained) -> None:
    """Refuse starts that are none, or would have no effect."""
    if starts is not None and not isinstance(starts, Mapping | str):
        raise UserError(
            "`starts`: expected the name of a column, or a dictionary of the time at which each "
            f"series began, such as {{'a': '2024-01-31T12:00'}}, got {type(starts).__name__}."
        )
    if starts is not None and not trained.normalisation.own_clock:
        raise UserError(
            "the model was trained on one clock for all series, on which it does not matter when "
            "one began: leave `starts` out."
        )
    if isinstance(starts, str) and (observations is None or isinstance(observations, SeriesTable)):
        raise UserError(
            f"`starts` names the column {starts!r}, but there is no table to find it in: give a "
            "dictionary by series, or name it as `start` of `read_series`."
        )


def _parse_starts(table: SeriesTable, starts: Any) -> np.ndarray:
    """When each series began, as the table counts time."""
    began = table.began
    if starts is None or isinstance(starts, str):
        return began
    labels = table.labels.tolist()
    check_labels("starts", starts, table)
    given = {label: _parse_wanted(starts[label], table.columns) for label in starts}
    for label, found in given.items():
        if len(found) != 1:
            raise UserError(
                f"`starts`: expected one time for series {shown(label)}, got {len(found)}."
            )
    return np.array(
        [float(given.get(label, [first])[0]) for label, first in zip(labels, began, strict=True)]
    )


def _wrong_starts(table: SeriesTable, began: np.ndarray) -> dict[int, str]:
    """Series that have been seen before they began."""
    reasons = {}
    for i in np.flatnonzero(table.lengths > 0).tolist():
        first = table.times[table.offsets[i]]
        if began[i] > first + 1e-6:
            seen, start = original_times(table.columns, np.array([first, began[i]]))
            reasons[i] = (
                f"has an observation at {seen}, before its start at {start}: correct the start, or "
                "leave the observation out."
            )
    return reasons


def _wrong_gaps(table: SeriesTable, trained: Trained) -> dict[int, str]:
    """Series with gaps, where training had none."""
    if trained.gaps:
        return {}
    series = np.repeat(np.arange(len(table)), table.lengths)
    return dict.fromkeys(
        series[np.isnan(table.values).any(axis=1)].tolist(),
        "has observed values that are missing, but the model was trained on series without gaps "
        "and cannot know what one means: drop those rows, or train on data with gaps.",
    )


def _wrong_seen(
    table: SeriesTable, origins: np.ndarray, normalisation: Normalisation
) -> dict[int, str]:
    """Series with observations that are far from all the model has learnt from."""
    series = np.repeat(np.arange(len(table)), table.lengths)
    times = normalisation.to_model_times(table.times, origins[series])
    begins, reasons = _begins(origins, normalisation), {}
    for row in np.flatnonzero((times < -1e-6) | (times > LATEST)).tolist():
        i = int(series[row])
        if i in reasons:
            continue
        bounds = [table.times[row], begins[i], begins[i] + normalisation.time_scale]
        seen, first, last = original_times(table.columns, np.array(bounds))
        reasons[i] = (
            f"has an observation at {seen}, but the model has learnt from {first} to {last}: leave "
            "it out, check the unit of time, or train on series of that length."
        )
    return wrong_values(table, normalisation, farthest=STRANGE) | reasons


def wrong_values(
    table: SeriesTable, normalisation: Normalisation, *, farthest: float
) -> dict[int, str]:
    """Series with a value that the limits of its column do not allow, or more than so many standard
    deviations from the training mean, by their place, and why."""
    series = np.repeat(np.arange(len(table)), table.lengths)
    reasons: dict[int, str] = {}
    for j, limit in enumerate(normalisation.limits):
        if limit is None:
            continue
        name, column = table.columns.observed[j], table.values[:, j]
        broken, touched = limit.broken(column), limit.touched(column)
        for row in np.flatnonzero(broken | touched).tolist():
            reasons.setdefault(
                int(series[row]),
                f"has {name} = {column[row]:g}, "
                + (
                    f"but it is {limit}: check the column and its unit, or leave the value out."
                    if broken[row]
                    else f"the end of what it can be ({limit}), where training had no value and "
                    "which has no logarithm: leave the value out, or train on runs with such too."
                ),
            )
    means = normalisation.to_original_values(np.zeros((1, len(table.columns.observed))))
    values = normalisation.to_model_values(table.values)
    for row, j in np.argwhere(np.abs(values) > farthest).tolist():
        reasons.setdefault(
            int(series[row]),
            f"has {table.columns.observed[j]} = {table.values[row, j]:g}, more than "
            f"{farthest:,.0f} standard deviations from the training mean of {means[0, j]:g}: check "
            "the column and its unit, or leave the value out.",
        )
    return reasons


def _begins(origins: np.ndarray, normalisation: Normalisation) -> np.ndarray:
    """The earliest times that the model knows of each series."""
    return normalisation.time_start + (origins if normalisation.own_clock else 0.0 * origins)


def _read_times(
    table: SeriesTable, times: Any, origins: np.ndarray, normalisation: Normalisation
) -> list[np.ndarray]:
    """The times wanted of each series, as the table counts them."""
    if times is None:
        begins = _begins(origins, normalisation)
        return [np.linspace(begin, begin + normalisation.time_scale, NUM_TIMES) for begin in begins]
    if not isinstance(times, Mapping):
        return [_parse_wanted(times, table.columns)] * len(table)
    labels = table.labels.tolist()
    missing = [label for label in labels if label not in times]
    if missing:
        raise UserError(
            f"`times` has none for series {shown(missing[0])}: add them, or give one list."
        )
    check_labels("times", times, table)
    return [_parse_wanted(times[label], table.columns) for label in labels]


def _wrong_times(
    table: SeriesTable,
    wanted: list[np.ndarray],
    origins: np.ndarray,
    normalisation: Normalisation,
) -> dict[int, str]:
    """Series of which times are wanted that lie before all that is known, or far beyond."""
    reasons = {}
    for i, (some, begin) in enumerate(
        zip(wanted, _begins(origins, normalisation).tolist(), strict=True)
    ):
        bounds = np.array([some.min(), some.max(), begin])
        first, last, _ = (bounds - begin) / normalisation.time_scale
        if first >= -1e-6 and last <= FARTHEST:
            continue
        earliest, latest, begins = original_times(table.columns, bounds)
        reasons[i] = (
            f"cannot be forecast: times go back to {earliest}, but the model has learnt from "
            f"{begins} on: ask for later times, or train on series that begin earlier."
            if first < -1e-6
            else f"cannot be forecast: times go on to {latest}, more than {FARTHEST} times the "
            "span the model was trained on, where a forecast would mean nothing: ask for earlier "
            "times."
        )
    return reasons


def _parse_wanted(times: Any, columns: Columns) -> np.ndarray:
    """Times of a list as a table holds them; dates without a timezone are in the table's."""
    import pandas as pd

    try:
        dimensions = np.ndim(times)
    except ValueError:  # lists of several lengths
        dimensions = 2
    if dimensions > 1:
        raise UserError(f"times must be one list of numbers or dates, got {times!r:.80}.")
    column = pd.Series(times if dimensions else [times]).reset_index(drop=True)
    parsed = parse_times(column, zones=True)
    expected = "dates" if columns.datetime else "numbers"
    parsed = parsed._replace(values=in_timezone(parsed, columns))
    if parsed.datetime != columns.datetime or any(c.rows.any() for c in parsed.complaints):
        raise UserError(f"expected times that are {expected}, as in training, got {times!r:.80}.")
    if not len(parsed.values) or not np.isfinite(parsed.values).all():
        raise UserError(f"times must be one or more finite {expected}, got {times!r:.80}.")
    return parsed.values
