"""One object over it all: from a table of past runs to forecasts of new ones."""

import difflib
import operator
import os
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib.metadata import version
from typing import Any

import equinox as eqx
import jax
import numpy as np
from pydantic import ValidationError

from lupi.array_file import read_arrays, read_header, write_arrays
from lupi.data.normalisation import Normalisation, series_starts, to_tasks, within_span
from lupi.data.parsing import parse_times
from lupi.data.reading import column_names, read_tasks
from lupi.data.series_table import Columns, SeriesTable, original_times
from lupi.errors import UserError
from lupi.forecast import Forecast, forecast_columns
from lupi.models import NeuralODEProcess, ProcessSettings, build_process
from lupi.models.model_file import check_weights, weights_of, with_weights
from lupi.prediction import predict
from lupi.presets import ForecasterSettings
from lupi.progress import show_epochs
from lupi.training import EpochRow, TrainingState, begin, finish, train_epochs
from lupi.training.checkpoint import load_checkpoint, save_checkpoint

SECONDS_BETWEEN_CHECKPOINTS = 10.0

LATEST = 1.1
"""In spans of the training data: observations after that are refused."""

STRANGE = 20
"""Standard deviations of the training data from its mean: values beyond are refused."""

FARTHEST = 64
"""Spans of the training data beyond which a forecast is refused."""


class Forecaster:
    """Learns from a table of past runs, and forecasts new runs from a few observations.

    ```python
    tasks = lupi.read_tasks("runs.csv", series="run", time="t", observed="x", privileged="k")
    forecaster = lupi.Forecaster().fit(tasks, seed=0)
    forecast = forecaster.predict(new_run, times)
    ```
    """

    def __init__(self, settings: ForecasterSettings | str = "default"):
        """Settings, or the name of a preset."""
        if isinstance(settings, str):
            settings = ForecasterSettings.preset(settings)
        self.settings = settings
        self._fitted: _Fitted | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        return self._fitted is not None

    @property
    def process(self) -> NeuralODEProcess:
        """The trained process, in the model's units."""
        return self._get().process

    @property
    def columns(self) -> Columns:
        """What it was trained on."""
        return self._get().columns

    @property
    def normalisation(self) -> Normalisation:
        """How original units become the model's."""
        return self._get().normalisation

    @property
    def provenance(self) -> dict[str, Any]:
        """Data, seed, versions, and how training went."""
        return self._get().provenance

    def fit(
        self,
        tasks: Any,
        *,
        seed: int = 0,
        checkpoint: str | os.PathLike | None = None,
        on_epoch: Callable[[EpochRow], None] | None = None,
        progress: bool = True,
    ) -> "Forecaster":
        """Train on a table of series; its privileged columns help, and are never needed again.

        Interrupted (Ctrl-C), it keeps the best so far. With a `checkpoint`, a path, a training that
        was stopped in whatever way goes on from there, to the same result. `progress` shows a bar
        on a terminal; `on_epoch` sees each epoch's losses.
        """
        if not isinstance(tasks, SeriesTable):
            raise UserError(
                f"expected the series that `read_tasks` gives, got {type(tasks).__name__}: read it "
                "with `lupi.read_tasks` first."
            )
        seed = _check_seed(seed)
        forecast_columns(tasks.columns)  # before hours of training, not after
        training, validation = _hold_out(tasks, self.settings.num_validation(len(tasks)), seed)
        normalisation = Normalisation.of(training)
        process_settings = ProcessSettings.model_validate(
            self.settings.process.model_dump()
            | {
                "observation_size": len(tasks.columns.observed),
                "privileged_size": len(tasks.columns.privileged),
            }
        )
        build_key, fit_key = jax.random.split(jax.random.key(seed))
        process = build_process(process_settings, key=build_key)
        settings = self.settings.train.resolve(len(training))
        gaps = bool(np.isnan(training.values).any())
        # A held-out series may begin earlier or end later than all that are trained on.
        validation = within_span(validation, normalisation)
        parts = [to_tasks(part, normalisation) for part in (training, validation)]
        identity = {
            "settings": self.settings.model_dump(mode="json"),
            "data": tasks.fingerprint(),
            "seed": seed,
            # Another version may round otherwise, and the result would be that of neither.
            "versions": {"lupi": version("lupi"), "jax": version("jax")},
        }
        started = time.monotonic()
        with show_epochs(settings.epochs) if progress else nullcontext() as show:
            watchers = [watch for watch in (show, on_epoch) if watch is not None]
            state, stopped_by = self._train(
                process, parts, settings, fit_key, checkpoint, identity, watchers
            )
        (fitted,) = finish([process], state, settings)
        best = min(fitted.history, key=lambda row: row["validation_loss"])
        provenance = {
            "data": {"fingerprint": identity["data"], "series": len(tasks), "gaps": gaps},
            "seed": seed,
            "versions": identity["versions"],
            "python": platform.python_version(),
            "seconds": time.monotonic() - started,
            "epochs": state.epoch,
            "interrupted": stopped_by is not None,
            "best_epoch": best["epoch"],
            "validation": {k: v for k, v in best.items() if k.startswith("validation_")},
        }
        self._fitted = _Fitted(
            fitted.process, process_settings, normalisation, tasks.columns, provenance
        )
        if isinstance(stopped_by, UserError):
            raise UserError(f"{stopped_by} What was best before is kept.") from stopped_by
        return self

    def _train(
        self, process, parts, settings, key, checkpoint, identity, watchers
    ) -> tuple[TrainingState, BaseException | None]:
        """The last good state of training, and what stopped it before the end, if anything."""
        training, validation = ([part] for part in parts)
        arguments = ([process], training, validation)
        state, saved = None, time.monotonic()
        if checkpoint is not None:
            like = begin([process], settings, len(parts[0]))
            state = load_checkpoint(checkpoint, like, identity=identity)
        epochs = train_epochs(*arguments, settings=settings, keys=[key], state=state)
        try:
            for state in epochs:
                for watch in watchers:
                    watch(state.histories[0][-1])
                if checkpoint is not None and (
                    time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS
                    or state.epoch == settings.epochs
                ):
                    save_checkpoint(checkpoint, state, identity=identity)
                    saved = time.monotonic()
        except (KeyboardInterrupt, UserError) as stopped_by:
            if state is None:
                raise
            if checkpoint is not None:
                save_checkpoint(checkpoint, state, identity=identity)
            return state, stopped_by
        assert state is not None  # there is at least one epoch
        return state, None

    def predict(
        self,
        observations: Any,
        times: Any = None,
        *,
        starts: Mapping[Any, Any] | None = None,
        num_samples: int = 64,
        seed: int = 0,
    ) -> Forecast:
        """Forecast one or several new series from a few observations of each.

        `observations` is anything `read_tasks` reads, with the columns of the training data but
        the privileged ones (and, for one series, the series column): a dataframe, a dictionary of
        columns, a file. `times`, in original units and any order, before, between and beyond the
        observations: one list for all, or a dictionary of lists by series; by default 100 over the
        span of the training data. With more observations, call it again.

        Series with dates count time from their first observation; `starts`, a dictionary by series,
        says when they began if that was earlier.
        """
        fitted = self._get()
        seed, num_samples = _check_seed(seed), operator.index(num_samples)
        table = self._read(observations)
        began = _parse_starts(table, starts)
        self._check_seen(table, began)
        wanted = [self._times_of(table, i, times, began[i]) for i in range(len(table))]
        normalisation = fitted.normalisation
        means, scales, samples = [], [], []
        for i, times_of_series in enumerate(wanted):
            task = jax.device_get(to_tasks(table[i], normalisation, began[i : i + 1]))
            model_times = normalisation.to_model_times(times_of_series, began[i])
            # The same random numbers for every series: none depends on what stands beside it.
            prediction = predict(
                fitted.process,
                *jax.device_put(
                    (
                        jax.tree.map(lambda leaf: leaf[0], task.observations),
                        np.asarray(model_times, np.float32),
                    )
                ),
                num_samples=num_samples,
                key=jax.random.key(seed),
            )
            means.append(np.asarray(prediction.decoded_means, float))
            scales.append(np.asarray(prediction.decoded_scales, float))
            samples.append(np.asarray(prediction.samples, float))
        scale = np.array(normalisation.observed_scale)
        return Forecast(
            columns=table.columns,
            labels=np.repeat(table.labels, [len(times) for times in wanted]),
            times=np.asarray(original_times(table.columns, np.concatenate(wanted))),
            decoded_means=normalisation.to_original_values(np.concatenate(means, axis=1)),
            decoded_scales=np.concatenate(scales, axis=1) * scale,
            samples=normalisation.to_original_values(np.concatenate(samples, axis=1)),
            observations=table.to_dataframe(),
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write everything into one file: weights, settings, normalisation, columns, provenance."""
        fitted = self._get()
        complaint = f"this forecaster cannot be saved to {path}"
        weights = weights_of(fitted.process, fitted.settings, complaint)
        header = {
            "settings": self.settings.model_dump(mode="json"),
            "process": fitted.settings.model_dump(mode="json"),
            "normalisation": fitted.normalisation.model_dump(mode="json"),
            "columns": fitted.columns.model_dump(mode="json"),
            "provenance": fitted.provenance,
            "versions": fitted.provenance["versions"],
        }
        write_arrays(path, weights, header, kind="forecaster")

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Forecaster":
        """Read a forecaster that `save` wrote; it forecasts the same numbers."""
        header, shapes = read_header(path, kind="forecaster")
        try:
            forecaster = cls(ForecasterSettings.model_validate(header["settings"]))
            settings = ProcessSettings.model_validate(header["process"])
            normalisation = Normalisation.model_validate(header["normalisation"])
            columns = Columns.model_validate(header["columns"])
            provenance = dict(header["provenance"])
        except (ValidationError, KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"the header of {path} does not say what the model is ({error}): restore the file "
                "or train the model again."
            ) from None
        check_weights(shapes, settings, f"{path} is damaged")
        process = with_weights(settings, read_arrays(path))
        forecaster._fitted = _Fitted(process, settings, normalisation, columns, provenance)
        return forecaster

    def _get(self) -> "_Fitted":
        if self._fitted is None:
            raise UserError("this forecaster has not been trained: call `fit` first, or load one.")
        return self._fitted

    def _read(self, observations: Any) -> SeriesTable:
        fitted = self._get()
        columns = fitted.columns
        table = observations
        if not isinstance(table, SeriesTable):
            table = read_tasks(
                observations,
                series=_series_column(observations, columns.series),
                time=columns.time,
                observed=columns.observed,
                units=columns.units,
                training=False,
            )
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
        if np.isnan(table.values).any() and not fitted.provenance["data"]["gaps"]:
            raise UserError(
                "some observed values are missing, but the model was trained on series without "
                "gaps and cannot know what one means: drop those rows, or train on data with gaps."
            )
        return table

    def _check_seen(self, table: SeriesTable, began: np.ndarray) -> None:
        """Refuse observations that are far from all the model has learnt from."""
        normalisation = self.normalisation
        series = np.repeat(np.arange(len(table)), table.lengths)
        times = normalisation.to_model_times(table.times, began[series])
        for row in np.flatnonzero((times < -1e-6) | (times > LATEST)):
            begin = normalisation.time_start
            begin += began[series[row]] if normalisation.own_clock else 0.0
            bounds = [table.times[row], begin, begin + normalisation.time_scale]
            seen, first, last = original_times(table.columns, np.array(bounds))
            raise UserError(
                f"series {table.labels[series[row]]!r} has an observation at {seen}, but the model "
                f"has learnt from {first} to {last}: leave it out, check the unit of time, or "
                "train on series of that length."
            )
        values = normalisation.to_model_values(table.values)
        for row, j in np.argwhere(np.abs(values) > STRANGE):
            name, mean = table.columns.observed[j], normalisation.observed_mean[j]
            raise UserError(
                f"series {table.labels[series[row]]!r} has {name} = {table.values[row, j]:g}, more "
                f"than {STRANGE} standard deviations from the training mean of {mean:g}: check the "
                "column and its unit, or leave the value out."
            )

    def _times_of(self, table: SeriesTable, i: int, times: Any, began: float) -> np.ndarray:
        """The times wanted of a series, as the table counts them."""
        normalisation, label = self.normalisation, table.labels[i]
        begin = normalisation.time_start + (began if normalisation.own_clock else 0.0)
        if times is None:
            return np.linspace(begin, begin + normalisation.time_scale, 100)
        if isinstance(times, Mapping):
            if label not in times:
                raise UserError(
                    f"`times` has none for series {label!r}: add them, or give one list."
                )
            times = times[label]
        wanted = _parse_wanted(times, table.columns)
        model_times = (wanted - begin) / normalisation.time_scale
        first, last, begins = original_times(
            table.columns, np.array([wanted.min(), wanted.max(), begin])
        )
        if model_times.min() < -1e-6:
            raise UserError(
                f"times go back to {first}, but the model has learnt from {begins} on: ask for "
                "later times, or train on series that begin earlier."
            )
        if model_times.max() > FARTHEST:
            raise UserError(
                f"times go on to {last}, more than {FARTHEST} times the span the model was trained "
                "on: a forecast that far would mean nothing."
            )
        return np.maximum(wanted, begin)


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


def _check_seed(seed: int) -> int:
    seed = operator.index(seed)
    if not 0 <= seed < 2**32:
        raise UserError(f"the seed must be a whole number from 0 to 2**32 - 1, got {seed}.")
    return seed


def _parse_starts(table: SeriesTable, starts: Mapping[Any, Any] | None) -> np.ndarray:
    """When each series began, as the table counts time."""
    began = series_starts(table)
    if starts is None:
        return began
    given = {label: _parse_wanted(starts[label], table.columns)[0] for label in starts}
    return np.array(
        [given.get(label, first) for label, first in zip(table.labels, began, strict=True)]
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


class _Fitted(eqx.Module):
    """What training leaves."""

    process: NeuralODEProcess
    settings: ProcessSettings = eqx.field(static=True)
    normalisation: Normalisation = eqx.field(static=True)
    columns: Columns = eqx.field(static=True)
    provenance: dict[str, Any] = eqx.field(static=True)


def load(path: str | os.PathLike) -> Forecaster:
    """Read a forecaster that `Forecaster.save` wrote."""
    return Forecaster.load(path)


def _hold_out(
    tasks: SeriesTable, num_validation: int, seed: int
) -> tuple[SeriesTable, SeriesTable]:
    """Series to train on and series to validate on, whatever the order of rows was."""
    if len(tasks) < 2:
        raise UserError(
            f"there {'is' if len(tasks) == 1 else 'are'} {len(tasks)} series, training needs at "
            "least 2, one of them to validate on: give more, or name the series column."
        )
    order = np.random.default_rng(seed).permutation(len(tasks))
    return tasks[np.sort(order[num_validation:])], tasks[np.sort(order[:num_validation])]
