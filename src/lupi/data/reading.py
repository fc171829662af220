"""From a user's table to series, checked at the door."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from lupi.data.clocks import CLOCKS
from lupi.data.known import expanded_names
from lupi.data.limits import as_limits
from lupi.data.outliers import drowning
from lupi.data.parsing import LARGEST, Complaint, Labels, parse_labels, parse_times
from lupi.data.plain_columns import with_plain_columns
from lupi.data.problems import Problem, Problems, listed, raise_problems, shown
from lupi.data.reading_known import Categories, find_categories, read_columns, read_known
from lupi.data.series_table import Columns, SeriesTable, original_times
from lupi.data.sources import UnreadableError, file_name, open_source
from lupi.data.starts import with_starts
from lupi.data.windows import cut
from lupi.errors import UserError, check_name, check_whole

UNOBSERVED = "without an observed value"
UNSEEN = "has no observed value: give one, or leave the series out."


def read_series(
    source: Any,
    *,
    series: str | None = None,
    time: str,
    observed: str | Sequence[str],
    privileged: str | Sequence[str] = (),
    privileged_table: Any = None,
    known: str | Sequence[str] = (),
    events: str | Sequence[str] = (),
    categories: Categories = (),
    positive: str | Sequence[str] = (),
    limits: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    min_points: int = 1,
    training: bool = True,
    clock: str = "run",
    start: str | None = None,
    window: int | float | str | None = None,
) -> SeriesTable:
    """The series of a table in long format: one row for each time of each series.

    `source` is one of

    - a path: `.csv`, `.tsv` (both also with `.gz`), `.parquet`, `.nc` (NetCDF);
    - a dataframe of pandas (names of its index count as columns), polars, pyarrow or any other
      that narwhals knows;
    - an xarray Dataset, as in a NetCDF file: variables along two dimensions, series and time, or
      all along one. Times are a coordinate, shared by all series or with a value for each entry;
      a dimension without coordinate counts from 0;
    - a dictionary of columns.

    Rows come in any order, times at any distance, series in any lengths. Fields of `observed` and
    `privileged` columns may be empty or NaN; rows and series without any observed value are left
    out. Rows of the same series and time are merged if they agree. Times are numbers or dates;
    dates become seconds since 1970 UTC. Privileged columns have one value for each series, in every
    row or in some; with a `privileged_table`, any source with one row for each series, they all
    come from there. Without `series`, all rows are one series.

    `known` columns are known of new series too, whatever is observed of them: one value for a
    series (a dose, a weight, a group), or a course (an input that is set or forecast), at any rows,
    those without an observed value too. `events` are such columns whose values are amounts at
    single times, which add up. Known and privileged columns of text hold categories, and so do
    those that `categories` names. `positive` observed columns are 0 or more (counts too), those in
    `limits` lie between a lower and an upper number, one of which may be None; so do forecasts.

    `units` of columns, by name, label forecasts;
    those that a NetCDF file or a Dataset says in attributes are taken where none are given.

    `clock` is what dates count from: the beginning of each `"run"`, which is its first row or what
    a column `start` says (one date for each series); midnight, Monday or 1 January before it
    (`"day"`, `"week"`, `"year"`), in the timezone of the dates; or one time for all (`"common"`).

    `window` cuts each series into consecutive runs of that length: a number in the unit of the time
    column, or for dates a text such as `"7D"`, `"24h"`, or `"MS"` and `"YS"` for months and years.
    Runs with fewer than `min_points` rows are left out; `left_out` of the result counts them.

    Raises `UserError` with the first problem; `check_series` gives them all. `training=False` takes
    what is enough to predict from: columns may be constant or empty.

    ```python
    series = lupi.read_series("runs.csv", series="run", time="t", observed=["x"], privileged=["k"])
    ```
    """
    table, problems = check_series(
        source,
        series=series,
        time=time,
        observed=observed,
        privileged=privileged,
        privileged_table=privileged_table,
        known=known,
        events=events,
        categories=categories,
        positive=positive,
        limits=limits,
        units=units,
        min_points=min_points,
        training=training,
        clock=clock,
        start=start,
        window=window,
    )
    raise_problems(problems)
    assert table is not None
    return table


def check_series(
    source: Any,
    *,
    series: str | None = None,
    time: str,
    observed: str | Sequence[str],
    privileged: str | Sequence[str] = (),
    privileged_table: Any = None,
    known: str | Sequence[str] = (),
    events: str | Sequence[str] = (),
    categories: Categories = (),
    positive: str | Sequence[str] = (),
    limits: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    min_points: int = 1,
    training: bool = True,
    clock: str = "run",
    start: str | None = None,
    window: int | float | str | None = None,
) -> tuple[SeriesTable | None, list[Problem]]:
    """The series that `read_series` gives, and every problem found instead of the first.

    Where there are problems, the series are only good for showing what was understood: values and
    rows with a problem are left out. None where nothing is left.
    """
    check_name("clock", clock, CLOCKS)
    min_points = check_whole("min_points", min_points, least=1)
    observed, events = _names("observed", observed), _names("events", events)
    if not isinstance(categories, Mapping):
        categories = _names("categories", categories)
    columns = Columns(
        clock=clock,  # pyright: ignore[reportArgumentType]
        start=None if start is None else _name("start", start),
        series=None if series is None else _name("series", series),
        time=_name("time", time),
        observed=observed,
        privileged=_names("privileged", privileged),
        known=tuple(dict.fromkeys([*_names("known", known), *events])),
        events=events,
        units=_units(units),
        limits=as_limits(_names("positive", positive), limits, observed),
    )
    problems = Problems(file_name(source))
    extra_problems = Problems(file_name(privileged_table))
    _check_roles(columns, privileged_table is not None, problems)
    _check_categories(columns, categories, problems)
    _check_clock(columns, window, problems)
    if problems.found:
        return None, problems.found

    label = () if series is None else (series,)
    began = () if start is None else (start,)
    wanted = [*label, time, *columns.observed, *columns.known, *began]
    if privileged_table is None:
        frame, said = _load(source, [*wanted, *columns.privileged], series, problems)
        extra = None
    else:
        frame, said = _load(source, wanted, series, problems)
        extra, more = _load(privileged_table, [*label, *columns.privileged], series, extra_problems)
        said = more | said
        if extra is None:
            return None, problems.found + extra_problems.found
    if frame is None:
        return None, problems.found + extra_problems.found
    found = find_categories(frame, columns.known, categories, problems)
    found |= find_categories(
        frame if extra is None else extra, columns.privileged, categories, problems
    )
    columns = columns.model_copy(update={"units": said | columns.units, "categories": found})

    labels = _read_labels(frame, columns, problems)
    if extra is None:
        values = _privileged_in_rows(frame, labels, columns, problems)
    else:
        values = _privileged_in_table(extra, labels, columns, extra_problems)
    columns = columns.model_copy(
        update={"privileged": expanded_names(columns.privileged, columns.categories)}
    )
    least = min_points if window is None else 1
    table = _read_series(frame, labels, values, columns, least, problems, training)
    if table is not None:
        table = with_starts(table, frame, labels, problems, training=training)
    if table is not None and window is not None:
        table = cut(table, window, min_points, problems)
    if table is not None and training:
        _check_varied(table, problems, extra_problems if extra is not None else problems)
    return table, problems.found + extra_problems.found


def column_names(source: Any) -> list[str]:
    """The columns of a source; none where it cannot be opened, which reading it will say."""
    try:
        return open_source(source).names
    except UnreadableError:
        return []


def _names(role: str, names: Any) -> tuple[str, ...]:
    """The columns of a role, of which there may be one or several."""
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable):
        raise UserError(
            f"`{role}`: expected the name of a column or a list of names, got {names!r:.40}."
        )
    return tuple(_name(role, name) for name in names)


def _name(role: str, name: Any) -> str:
    if not isinstance(name, str):
        raise UserError(
            f"`{role}`: expected the name of a column as text, got {name!r:.40}: of a dataframe "
            "whose columns are numbers that is '0', '1' and so on."
        )
    return name


def _units(units: Any) -> dict[str, str]:
    given = {} if units is None else units
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given.values()):
        raise UserError(
            f"`units`: expected the unit of each column as text, such as {{'x': 'm'}}, got "
            f"{units!r:.40}."
        )
    return {str(name): unit for name, unit in given.items()}


def _check_roles(columns: Columns, second_table: bool, problems: Problems) -> None:
    if not columns.observed:
        problems.add("expected at least one observed column, got none: name what was measured.")
    roles: dict[str, str] = {}
    for role, names in (
        ("series", () if columns.series is None else (columns.series,)),
        ("time", (columns.time,)),
        ("observed", columns.observed),
        ("privileged", columns.privileged),
        ("known", columns.known),
        ("start", () if columns.start is None else (columns.start,)),
    ):
        for name in names:
            if name in roles:
                problems.add(
                    f"expected one role for each column, got {roles[name]} and {role}: name it in "
                    "one of them only.",
                    column=name,
                )
            roles[name] = role
    if second_table and (columns.series is None or not columns.privileged):
        problems.add(
            "expected the names of the series column and of privileged columns with a privileged "
            "table, got no such names: give `series` and `privileged`, or leave the table out."
        )


def _check_categories(columns: Columns, categories: Categories, problems: Problems) -> None:
    """Named columns must be some that can have any; a mapping is what training had of its own."""
    could_be = (*columns.known, *columns.privileged)
    for name in () if isinstance(categories, Mapping) else categories:
        if name not in could_be:
            problems.add(
                "expected categories of a known or privileged column, got them of another: name "
                + (f"one of {listed(could_be)}." if could_be else "it as one of these too."),
                column=name,
            )


def _check_clock(columns: Columns, window: Any, problems: Problems) -> None:
    if columns.start is not None and (window is not None or columns.clock == "common"):
        other = "windows, which begin where they are cut" if window is not None else "one clock"
        problems.add(
            f"expected no column that says when a series began with {other}: leave out one of "
            "them.",
            column=columns.start,
        )


def _load(
    source: Any, wanted: Sequence[str], series: str | None, problems: Problems
) -> tuple[Any, dict[str, str]]:
    """The wanted columns of a source, and the units it says they have.

    None, and a problem, where they cannot be had.
    """
    try:
        opened = open_source(source, series=series)
        for name in dict.fromkeys(wanted):
            if opened.names.count(name) > 1:
                problems.add(
                    f"expected one column of this name, got {opened.names.count(name)}: rename "
                    "the others.",
                    column=name,
                )
            elif name not in opened.names:
                problems.add(_missing_column(name, opened.names), column=name)
        if problems.found:
            return None, {}
        frame = opened.load(wanted)
    except UnreadableError as error:
        problems.add(error.message, column=error.column, row=error.row)
        return None, {}
    if len(frame) == 0:
        problems.add("expected rows of data, got only the names of columns: add rows.")
        return None, {}
    frame = with_plain_columns(frame, problems)
    if problems.found:
        return None, {}
    return frame, {name: opened.units[name] for name in wanted if name in opened.units}


def _missing_column(name: str, names: Sequence[str]) -> str:
    folded = {other.casefold(): other for other in names}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.5)
    hint = f" Did you mean {folded[close[0]]!r}?" if close else ""
    separators = [mark for mark in (";", "\t", "|", ",") if len(names) == 1 and mark in names[0]]
    if separators:
        hint = (
            f" It looks as if columns were separated by {separators[0]!r}: save the file with "
            "commas (.csv) or tabs (.tsv)."
        )
    return f"expected a column of this name, got the columns {listed(names)}.{hint}"


def _read_labels(frame: Any, columns: Columns, problems: Problems) -> Labels:
    """The series of each row; a label that is missing is a problem only where there are values."""
    if columns.series is None:
        return Labels(np.zeros(1, np.int64), np.zeros(len(frame), np.int64), [])
    column = frame[columns.series]
    labels = parse_labels(column)
    codes = labels.codes

    def series_at(row: int) -> str | None:
        return None if codes[row] < 0 else str(labels.labels[codes[row]])

    problems.series_at = series_at
    _complain(columns.series, labels.complaints, column, problems)
    return labels


def _complain(name: str, complaints: list[Complaint], column: Any, problems: Problems) -> None:
    for complaint in complaints:
        problems.add_rows(name, complaint.rows, column.array, complaint.expected, complaint.advice)


def _canonical(numbers: np.ndarray) -> np.ndarray:
    """One zero and one NaN: equal contents are then equal bytes, and so equal fingerprints."""
    numbers += 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers


def _privileged_in_rows(
    frame: Any, labels: Labels, columns: Columns, problems: Problems
) -> Float64[np.ndarray, "series privileged"]:
    """What the rows of each series say of it, if they agree."""
    known = []
    for name in columns.privileged:
        numbers = _canonical(read_columns(frame, [name], columns.categories, problems))
        extremes = [_extremes(values, labels) for values in numbers.T]
        known += [lowest for lowest, _ in extremes]
        changes = np.any([highest > lowest for lowest, highest in extremes], axis=0)
        if changes.any():
            series = int(np.argmax(changes))
            rows = np.flatnonzero((labels.codes == series) & ~np.isnan(numbers).any(axis=1))
            row = rows[np.argmax((numbers[rows] != numbers[rows[0]]).any(axis=1))]
            first, other = (frame[name].array[i] for i in (rows[0], row))
            problems.add(
                f"expected one value for the whole series, got {shown(first)} in row "
                f"{rows[0] + 1} and {shown(other)} here{_and_more(changes, 'series')}: a "
                "privileged column must not change within a series; observe it instead, or "
                "correct it.",
                column=name,
                series=problems.series_at(int(row)),
                row=int(row) + 1,
            )
    return np.stack(known, axis=1) if known else np.zeros((len(labels.labels), 0))


def _extremes(values: np.ndarray, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of each series, NaN where it has none."""
    import pandas as pd

    labelled = labels.codes >= 0
    groups: Any = pd.Series(values[labelled]).groupby(labels.codes[labelled])
    everyone = np.arange(len(labels.labels))
    lowest, highest = (column.reindex(everyone) for column in (groups.min(), groups.max()))
    return lowest.to_numpy(), highest.to_numpy()


def _and_more(which: Bool[np.ndarray, " anything"], what: str) -> str:
    count = int(np.count_nonzero(which))
    return f" (the first of {count:,} such {what})" if count > 1 else ""


def _privileged_in_table(
    extra: Any, labels: Labels, columns: Columns, problems: Problems
) -> Float64[np.ndarray, "series privileged"]:
    """What a second table says of each series; series that only it has are left out."""
    import pandas as pd

    assert columns.series is not None
    there = _read_labels(extra, columns, problems)
    values = _canonical(read_columns(extra, columns.privileged, columns.categories, problems))
    problems.add_rows(
        columns.series,
        there.codes < 0,
        extra[columns.series].array,
        "the label of a series",
        "fill it in, or remove the row",
    )
    twice = pd.Series(there.codes).duplicated().to_numpy() & (there.codes >= 0)
    problems.add_rows(
        columns.series,
        twice,
        extra[columns.series].array,
        "one row for each series",
        "this label stands in an earlier row; remove one of them",
    )
    first_row = np.full(len(there.labels) + 1, -1)
    first_row[there.codes[::-1]] = np.arange(len(extra))[::-1]
    ours, theirs = labels.labels, there.labels
    if object in (ours.dtype, theirs.dtype):
        # Such as 1 in one file, and '1' in another that has 'x' as well.
        ours, theirs = ours.astype(str), theirs.astype(str)
    found = pd.Index(theirs).get_indexer(pd.Index(ours))
    if (found < 0).all() and len(labels.labels) and len(there.labels):
        problems.add(
            f"expected labels of series as in the data, such as {shown(labels.labels[0])}, got "
            f"{shown(there.labels[0])} and others, none of which is in the data: write labels in "
            "the same way in both.",
            column=columns.series,
        )
    return np.where((found >= 0)[:, None], values[first_row[found]], np.nan)


def _read_series(
    frame: Any,
    labels: Labels,
    known: Float64[np.ndarray, "series privileged"],
    columns: Columns,
    min_points: int,
    problems: Problems,
    training: bool,
) -> SeriesTable | None:
    """Times and values, sorted and merged; None if no row is left."""
    times = parse_times(frame[columns.time])
    _complain(columns.time, times.complaints, frame[columns.time], problems)
    columns = columns.model_copy(update={"datetime": times.datetime, "timezone": times.timezone})
    if columns.clock != "run" and not times.datetime:
        problems.add(
            f"expected dates with the clock {columns.clock!r}, got numbers, which are one clock "
            "for all series: leave the clock out, or write dates.",
            column=columns.time,
        )
    of_text = "; kinds that are known of new series too are named in `known` (--known)"
    values = _canonical(read_columns(frame, columns.observed, {}, problems, of_text=of_text))
    present, timeless = ~np.isnan(values).all(axis=1), np.isnan(times.values)
    paths, unfit, used = None, {}, present
    if columns.known:
        observed = np.isin(np.arange(len(labels.labels)), labels.codes[present & ~timeless])
        needed = observed | (not training)  # what is left out need not be known
        paths, unfit, telling = read_known(
            frame, labels, times.values + 0.0, needed, training, columns, problems
        )
        used = present | telling
    columns = _suit_limits(frame, values, columns, problems)

    explained = np.zeros(len(frame), bool)
    for complaint in times.complaints:
        explained |= complaint.rows
    problems.add_rows(
        columns.time,
        present & timeless & ~explained,
        frame[columns.time].array,
        "a time in every row that has values",
        "fill it in, or remove the row",
    )
    if columns.series is not None:
        problems.add_rows(
            columns.series,
            present & (labels.codes < 0),
            frame[columns.series].array,
            "the label of a series in every row that has values",
            "fill it in, or remove the row",
        )
    rows = np.flatnonzero(present & ~timeless & (labels.codes >= 0))
    if rows.size == 0:
        problems.add(
            "expected rows with a time and an observed value, got none: check that the right "
            "columns are named."
        )
        return None

    codes, sorted_times = labels.codes[rows], _canonical(times.values[rows])
    step, advance = np.diff(codes), np.diff(sorted_times)
    if not ((step > 0) | ((step == 0) & (advance >= 0))).all():
        order = np.lexsort((sorted_times, codes))
        rows, codes, sorted_times = rows[order], codes[order], sorted_times[order]
    values = values[rows]
    repeated = np.append(False, (np.diff(codes) == 0) & (np.diff(sorted_times) == 0))
    if repeated.any():
        values = _merge(values, repeated, rows, sorted_times, columns, problems)
        codes, sorted_times = codes[~repeated], sorted_times[~repeated]

    lengths = np.bincount(codes, minlength=len(labels.labels)).astype(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    counts = {
        UNOBSERVED: np.count_nonzero(~used),
        "merged with others of the same time": np.count_nonzero(repeated),
    }
    rows_left_out = {reason: int(count) for reason, count in counts.items() if count}
    left_out = {"rows": rows_left_out} if rows_left_out else {}
    table = SeriesTable(
        columns,
        labels.labels,
        offsets,
        sorted_times,
        values,
        known,
        paths,
        left_out=left_out,
    )
    unseen = np.flatnonzero(lengths == 0).tolist()
    if training and unseen:
        left_out = left_out | {"series": {UNOBSERVED: len(unseen)}}
        table = replace(table[lengths > 0], left_out=left_out)
    elif not training:
        unfit = dict.fromkeys(unseen, UNSEEN) | unfit
        if 0 < len(unfit) < len(lengths):
            # The others can be forecast, and these are named.
            names = labels.labels.tolist()
            fit = ~np.isin(np.arange(len(lengths)), list(unfit))
            reasons = {names[i]: reason for i, reason in sorted(unfit.items())}
            table = replace(table[fit], left_out=left_out, unfit=reasons)
    lengths = table.lengths
    short = lengths < min_points
    if short.any():
        first = int(np.argmax(short))
        problems.add(
            f"expected at least {min_points} times with an observed value, got {lengths[first]}"
            f"{_and_more(short, 'series')}: add rows, or remove the series.",
            series=None if columns.series is None else str(table.labels[first]),
        )
    return table if lengths.all() else replace(table[lengths > 0], left_out=left_out)


def _suit_limits(frame: Any, values: np.ndarray, columns: Columns, problems: Problems) -> Columns:
    """The columns, with limits that have room for what lies at them; what lies beyond is wrong."""
    suited = {}
    for name, limit in columns.limits.items():
        numbers = values[:, columns.observed.index(name)]
        broken = limit.broken(numbers)
        advice = "correct it, or leave the limit out"
        problems.add_rows(name, broken, frame[name].array, f"a value of {limit}", advice)
        suited[name] = limit.suited_to(numbers[~broken])
    return columns.model_copy(update={"limits": suited})


def _merge(
    values: Float64[np.ndarray, "row observed"],
    repeated: Bool[np.ndarray, " row"],
    rows: Int64[np.ndarray, " row"],
    times: Float64[np.ndarray, " row"],
    columns: Columns,
    problems: Problems,
) -> Float64[np.ndarray, "time observed"]:
    """Rows of the same series and time as one row: one may fill the gaps of another."""
    starts = np.flatnonzero(~repeated)
    lowest, highest = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    for position, name in enumerate(columns.observed):
        differ = highest[:, position] > lowest[:, position]
        if differ.any():
            start = starts[np.argmax(differ)]
            end = np.append(starts, len(rows))[np.argmax(differ) + 1]
            group = start + np.flatnonzero(~np.isnan(values[start:end, position]))
            group = group[np.argsort(rows[group])]
            numbers = values[group, position]
            other = int(np.argmax(numbers != numbers[0]))
            when = shown(original_times(columns, times[start : start + 1])[0])
            problems.add(
                f"expected one value at each time of a series, got {shown(numbers[0])} in row "
                f"{rows[group[0]] + 1} and {shown(numbers[other])} here, both at {when}"
                f"{_and_more(differ, 'times')}: keep one of them, or give the rows their own "
                "series or times.",
                column=name,
                series=problems.series_at(int(rows[group[other]])),
                row=int(rows[group[other]]) + 1,
            )
    return lowest


def _check_varied(table: SeriesTable, problems: Problems, privileged_problems: Problems) -> None:
    """What training needs of columns as a whole: values, and more than one."""
    for names, numbers, found, where in (
        (table.columns.observed, table.values, problems, "row"),
        (table.columns.privileged, table.privileged, privileged_problems, "series"),
    ):
        for position, name in enumerate(names):
            there = numbers[:, position][~np.isnan(numbers[:, position])]
            if there.size == 0:
                found.add(
                    f"expected a value in some {where}, got none: leave the column out.",
                    column=name,
                )
            elif there.min() == there.max():
                found.add(
                    f"expected values that differ, got {shown(there[0])} in every {where} that has "
                    "one: nothing can be learnt from it, leave the column out.",
                    column=name,
                )
            elif np.ptp(there) < 1 / LARGEST:
                found.add(
                    f"expected values that differ by {1 / LARGEST:g} or more, got {np.ptp(there):g}"
                    " between the smallest and the largest: use a smaller unit.",
                    column=name,
                )
            elif (large := drowning(_without_limits(table, name, there))) is not None:
                found.add(
                    f"expected values that one scale can hold, got {large:g} beside others that "
                    "are nothing to it: leave the field empty if it stands for no value, or call "
                    "the column positive, which takes logarithms.",
                    column=name,
                )


def _without_limits(table: SeriesTable, name: str, values: np.ndarray) -> np.ndarray:
    limit = table.columns.limits.get(name)
    return values if limit is None else limit.without(values)
