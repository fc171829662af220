"""From a request to its answer, some series after the others, in memory that does not grow."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from pydantic import ValidationError

from lupi.data.reading import read_series
from lupi.data.series_table import SeriesTable
from lupi.errors import UserError, settings_problem
from lupi.forecasting import Forecast, Forecaster
from lupi.forecasting.levels import check_levels
from lupi.forecasting.refusals import COLUMN
from lupi.serving.catalogue import Served, as_json
from lupi.serving.contract import MOST_ROWS, MOST_TIMES, ForecastRequest

AT_ONCE = 16
"""Series that are forecast together: what one compiled call takes. Others have their turn in
between."""

USUAL_TIMES = 100
"""Where a request names none."""


def read_json(body: bytes) -> ForecastRequest:
    """The request in a body of JSON; what is none is a `UserError`."""

    def no_number(text: str) -> None:
        raise UserError(f"{text} is no JSON: a value that is missing is null.")

    try:
        asked = json.loads(body, parse_constant=no_number)
    except UserError:
        raise
    except (ValueError, RecursionError) as error:
        raise UserError(f"expected JSON, got something else: {error!s:.200}.") from None
    return checked(asked)


def checked(asked: Any) -> ForecastRequest:
    """A request of these fields."""
    if not isinstance(asked, dict):
        raise UserError(f"expected a JSON object, got {type(asked).__name__}: see /docs.")
    try:
        request = ForecastRequest.model_validate(asked)
    except ValidationError as error:
        raise UserError(f"{settings_problem(error)!s:.1000}".replace("setting ", "")) from None
    check_levels(request.quantiles)
    lists = request.times.values() if isinstance(request.times, dict) else [request.times]
    longest = max((len(times) for times in lists if times is not None), default=USUAL_TIMES)
    if longest > MOST_TIMES:
        raise UserError(
            f"times: expected at most {MOST_TIMES:,} of a series, got {longest:,}: ask for fewer, "
            "or in several requests."
        )
    return request


def read_csv(body: bytes, series: str | None) -> dict[str, list[Any]]:
    """The columns of a table as text, nothing where a field is empty.

    The column of labels becomes numbers if all of them are whole, as in files.
    """
    try:
        text = body.decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if any(row)]
    except UnicodeDecodeError:
        raise UserError("expected CSV in UTF-8, got another encoding: save it as UTF-8.") from None
    except csv.Error as error:
        raise UserError(f"expected CSV, got something else: {error!s:.200}.") from None
    if not rows:
        raise UserError("expected CSV with a line of column names, got nothing.")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        raise UserError(f"expected columns of different names, got {', '.join(names)!s:.200}.")
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(names):
            raise UserError(
                f"row {number}: expected {len(names)} values, as in the header, got {len(row)}."
            )
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(names)
    found: dict[str, list[Any]] = {
        name: [field.strip() or None for field in column]
        for name, column in zip(names, columns, strict=True)
    }
    labels = found.get(series or "", [])
    if all(label and re.fullmatch("0|-?[1-9][0-9]{0,17}", label) for label in labels):
        found |= {str(series): [int(label) for label in labels]} if labels else {}
    return found


class Answering:
    """One request to one model, answered in parts."""

    def __init__(self, served: Served, asked: ForecastRequest):
        self.served, self.asked = served, asked
        self.forecaster: Forecaster = served.asked(asked.inference)
        self.series = self.forecaster.columns.series
        labels = (asked.observations or {}).get(self.series or "", [])
        # A label may be anything that JSON has, also what cannot be one.
        self.number = len({json.dumps(label) for label in labels}) or 1
        times = asked.times if isinstance(asked.times, list) else None
        rows = self.number * (USUAL_TIMES if times is None else len(times))
        if rows > MOST_ROWS:
            raise UserError(
                f"expected at most {MOST_ROWS:,} rows of forecasts in one request, got {rows:,}: "
                "ask for fewer series or times, or in several requests."
            )

    @property
    def in_one(self) -> bool:
        """Whether there is one part only."""
        return self.number <= AT_ONCE

    def as_json(self) -> Iterator[bytes]:
        """A `ForecastAnswer`, in parts."""
        head = {"model": self.served.name, "inference": self.asked.inference}
        head["inference"] = head["inference"] or self.served.inference
        before, refused = _dumped(head)[:-1] + ', "series": [', {}
        for forecast in self._forecasts(refused):
            described = [self._describe(forecast[label]) for label in forecast.series]
            yield (before + ", ".join(_dumped(one) for one in described)).encode()
            before = ", "
        reasons = {str(as_json(label)): reason for label, reason in refused.items()}
        yield f'], "refused": {_dumped(reasons)}}}'.encode()

    def as_csv(self) -> Iterator[bytes]:
        """The table that `Forecast.to_dataframe` gives, in parts; a row for each refused series."""
        refused, told, header = {}, 0, True
        for forecast in self._forecasts(refused):
            frame = forecast.to_dataframe(
                coverage=self.asked.coverage, quantiles=self.asked.quantiles
            )
            if forecast.columns.series is not None:
                frame = frame[frame[COLUMN] == ""] if COLUMN in frame else frame.assign(refused="")
            yield frame.to_csv(index=False, header=header).encode()
            header = False
            told = len(frame.columns)
        out = io.StringIO()
        for label, reason in refused.items():
            csv.writer(out, lineterminator="\n").writerow([label, *[""] * (told - 2), reason])
        yield out.getvalue().encode()

    def _forecasts(self, refused: dict[Any, str]) -> Iterator[Forecast]:
        """Forecasts of some series each; the reasons of the others are put into `refused`."""
        asked = self.asked
        if self.in_one:
            forecast = self._predict(
                asked.observations, _labels_in(asked.observations, self.series)
            )
            refused |= forecast.refused
            yield forecast
            return
        table, none = self._read(), True
        for start in range(0, len(table), AT_ONCE):
            some = table[start : start + AT_ONCE]
            for forecast in self._attempts(some, refused):
                refused |= forecast.refused
                none = False
                yield forecast
        if none:
            label, reason = next(iter(refused.items()))
            raise UserError(f"series {label!r:.40}: {reason} None of {len(table)} can be forecast.")

    def _attempts(self, some: SeriesTable, refused: dict[Any, str]) -> Iterator[Forecast]:
        """The forecast of some series; where that is a mistake, of each of them that is none."""
        try:
            yield self._predict(some, some.labels.tolist())
        except UserError as error:
            if len(some) == 1:
                refused[some.labels.tolist()[0]] = str(error)
                return
            for i in range(len(some)):
                yield from self._attempts(some[i : i + 1], refused)

    def _read(self) -> SeriesTable:
        """The table of many series."""
        columns, given = self.forecaster.columns, self.asked.observations or {}
        return read_series(
            given,
            series=columns.series,
            time=columns.time,
            observed=columns.observed,
            known=[name for name in columns.known if name in given],
            events=[name for name in columns.events if name in given],
            categories=columns.categories,
            training=False,
            start=columns.start if columns.start in given else None,
        )

    def _predict(self, observations: Any, labels: list[Any]) -> Forecast:
        asked = self.asked
        return self.forecaster.predict(
            observations,
            self._of(asked.times, labels),
            starts=self._of(asked.starts, labels),
            known=self._of(asked.known, labels),
            privileged=self._of(asked.privileged, labels),
            num_samples=asked.num_samples,
            seed=asked.seed,
        )

    def _of(self, given: Any, labels: list[Any]) -> Any:
        """What a request gives by series, of these alone and with numbers for labels that are some;
        what is not by series as it is."""
        by_name = {str(label): label for label in labels}
        if not isinstance(given, dict) or not (
            any(isinstance(value, dict | list) for value in given.values())
            or any(name in by_name for name in given)
        ):
            return given
        return {
            by_name.get(name, name): value
            for name, value in given.items()
            if name in by_name or self.in_one  # where all are there, an unknown one is a mistake
        }

    def _describe(self, forecast: Forecast) -> dict[str, Any]:
        """A `SeriesForecast`."""
        asked, names = self.asked, forecast.columns.observed

        def values(array: np.ndarray) -> dict[str, list]:
            return dict(zip(names, _finite(array.T), strict=True))

        lower, upper = forecast.interval(coverage=asked.coverage)
        levels = [float(level) for level in asked.quantiles]
        quantiles = forecast.quantile(levels) if levels else []
        possible = forecast.mixture.means[: asked.trajectories]
        possible = forecast.normalisation.to_original_values(possible)
        best = forecast.best_next_time().iloc[0]
        found = forecast.systems(coverage=asked.coverage).iloc[0].to_dict()
        return {
            "label": None if forecast.columns.series is None else as_json(forecast.labels[0]),
            "observations": len(forecast.observations),
            "times": [as_json(time) for time in forecast.times],
            "mean": values(forecast.mean),
            "std": values(forecast.std),
            "lower": values(lower),
            "upper": values(upper),
            "quantiles": {
                f"{level:g}": values(one) for level, one in zip(levels, quantiles, strict=True)
            },
            "trajectories": {
                name: _finite(possible[:, :, j]) if asked.trajectories else []
                for j, name in enumerate(names)
            },
            "privileged": None
            if forecast.privileged is None
            else {
                name: {
                    "mean": as_json(found[name]),
                    **{end: as_json(found[f"{name}_{end}"]) for end in ("std", "lower", "upper")},
                }
                for name in forecast.privileged.columns.privileged
            },
            "surprise": as_json(found.get("surprise")),
            "effective_share": as_json(found.get("effective_share")),
            "best_next_time": {
                "time": as_json(best[forecast.columns.time]),
                "gain": as_json(best["gain"]),
            },
            "warnings": forecast.warnings,
        }


def _dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _finite(array: np.ndarray) -> list:
    """As nested lists; what is no finite number is null."""
    if np.isfinite(array).all():
        return array.tolist()
    cells = array.astype(object)
    cells[~np.isfinite(array)] = None
    return cells.tolist()


def _labels_in(observations: Mapping[str, list] | None, series: str | None) -> list[Any]:
    """The labels of a table, as it has them; of one series without a name it is 0."""
    if observations is None or series is None or series not in observations:
        return [0]
    return [label for label in observations[series] if not isinstance(label, list | dict)]
