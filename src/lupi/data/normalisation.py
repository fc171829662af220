"""From original units to the model's and back."""

from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field

from lupi.data.clocks import clock_origins
from lupi.data.inputs import Inputs
from lupi.data.known import KNOTS, Known, expanded_names
from lupi.data.limits import Limit
from lupi.data.observations import Observations
from lupi.data.parsing import LARGEST
from lupi.data.ragged import RaggedTasks
from lupi.data.series_table import SeriesTable
from lupi.errors import UserError

MARGIN = 0.05
"""Of the training span, before its first time: series sampled at random rarely begin at the very
beginning. Clocks that begin just after 0 begin at 0."""


FARTHEST = 1e6
"""Of the model's numbers, in standard deviations. A series left out may lie farther from those that
are trained on (-9999 among numbers that are all alike), but the squares of errors must be numbers.
"""


class Normalisation(BaseModel):
    """Shifts and scales, from the training series alone.

    Times go to [0, 1], with a margin before the first; observed and privileged columns go to mean 0
    and standard deviation 1, observed ones with limits as numbers without.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    time_start: float
    time_scale: float
    own_clock: bool
    """Whether each series counts time from a beginning of its own. Dates do, unless they have one
    common clock; numbers do not."""
    observed_mean: tuple[float, ...]
    observed_scale: tuple[float, ...]
    privileged_mean: tuple[float, ...]
    privileged_scale: tuple[float, ...]
    limits: tuple[Limit | None, ...] = ()
    """Of the observed columns; empty where none has any."""
    known_mean: tuple[float, ...] = ()
    known_scale: tuple[float, ...] = ()
    """Of what is known of new series too; categories stay 0 and 1."""
    known_least: tuple[float, ...] = ()
    known_most: tuple[float, ...] = ()
    """Its smallest and largest values in training; empty in files of before they were kept."""
    num_knots: int = Field(default=1, ge=1, le=KNOTS)
    """Of its path: 1 where nothing changes within a series."""

    @classmethod
    def of(cls, table: SeriesTable, *, some: bool = False) -> "Normalisation":
        """The normalisation that these series call for.

        Where they are only `some` of those there are, a column may have one value in all of them.
        """
        own_clock = table.columns.datetime and table.columns.clock != "common"
        times = table.times - _origins_of_rows(table) if own_clock else table.times
        first, last = float(times.min()), float(times.max())
        if last - first < 1 / LARGEST:
            raise UserError(
                "all observations of the series that are trained on are of one time, or next to "
                "it: give series with several, or times in a smaller unit."
            )
        start = first - MARGIN * (last - first)
        if start < 0 <= first:
            start = 0.0
        limits = tuple(table.columns.limits.get(name) for name in table.columns.observed)
        limits = limits if any(limits) else ()
        values = _each(limits, "without", table.values)
        return cls(
            time_start=start,
            time_scale=last - start,
            own_clock=own_clock,
            limits=limits,
            **_statistics("observed", values, table.columns.observed, some),
            **_statistics("privileged", table.privileged, table.columns.privileged, some),
            **_of_known(table),
        )

    def to_model_times(self, times, start):
        """Times as the model sees them, of a series whose clock begins at `start`."""
        origin = np.asarray(start if self.own_clock else 0.0)
        return (np.asarray(times, float) - origin - self.time_start) / self.time_scale

    def to_original_times(self, times):
        """Times of the model in original units; on a clock of its own, what that shows."""
        return times * self.time_scale + self.time_start

    def to_model_values(self, values):
        """Observed values as the model sees them."""
        numbers = _each(self.limits, "without", values)
        return (numbers - np.array(self.observed_mean)) / np.array(self.observed_scale)

    def to_model_privileged(self, values):
        """Privileged values as the model sees them; a table without any has none."""
        mean, scale = np.array(self.privileged_mean), np.array(self.privileged_scale)
        return (values - mean) / scale if values.shape[1] else np.zeros((len(values), mean.size))

    def to_inputs(
        self, known: Known | None, origins: Float[np.ndarray, " series"]
    ) -> Inputs | None:
        """What is known of series whose clocks begin at `origins`, as the model sees it."""
        if known is None:
            return None
        times, values = known.arrays(self.num_knots)
        values = _held((values - np.array(self.known_mean)) / np.array(self.known_scale))
        ts = self.to_model_times(times, origins[:, None])
        return Inputs(ts.astype(np.float32), values.astype(np.float32))

    def to_original_values(self, values):
        """Observed values of the model in original units."""
        numbers = values * np.array(self.observed_scale) + np.array(self.observed_mean)
        return _each(self.limits, "within", numbers)

    def log_slopes(self, values):
        """The logarithm of how fast the model's number grows with each observed value."""
        slopes = np.broadcast_to(-np.log(np.array(self.observed_scale)), np.shape(values)).copy()
        for j, limit in enumerate(self.limits):
            if limit is not None:
                slopes[..., j] += limit.log_slope(values[..., j])
        return slopes

    def to_original_privileged(self, values):
        """Privileged values of the model in original units."""
        return values * np.array(self.privileged_scale) + np.array(self.privileged_mean)


def _each(limits: tuple[Limit | None, ...], way: str, values):
    """Observed columns, those with limits taken one way or the other."""
    if not limits:
        return values
    found = np.array(values, float)
    for j, limit in enumerate(limits):
        if limit is not None:
            found[..., j] = getattr(limit, way)(found[..., j])
    return found


def within_span(table: SeriesTable, normalisation: Normalisation) -> SeriesTable:
    """The rows within the span of the training data."""
    times = normalisation.to_model_times(table.times, _origins_of_rows(table))
    return table.rows((times >= 0) & (times <= 1))


def _statistics(
    kind: str, values: np.ndarray, names: tuple[str, ...], some: bool
) -> dict[str, tuple]:
    found = []
    for name, column in zip(names, values.T, strict=True):
        known = column[~np.isnan(column)]
        one_value = known.size == 0 or known.min() == known.max()
        if one_value and not some:
            raise UserError(
                f"the {kind} column {name!r} has {'no value' if known.size == 0 else 'one value'} "
                "in all series that are trained on: leave it out, or give more series."
            )
        mean = float(known.mean()) if known.size else 0.0
        found.append((mean, 1.0 if one_value else float(known.std())))
    return {
        f"{kind}_mean": tuple(mean for mean, _ in found),
        f"{kind}_scale": tuple(scale for _, scale in found),
    }


def _of_known(table: SeriesTable) -> dict[str, Any]:
    """Mean and scale of what is known of new series too, over series and knots."""
    known = table.known
    if known is None:
        return {}
    names = expanded_names(table.columns.known, table.columns.categories)
    kinds = np.array([name not in table.columns.known for name in names])
    mean, scale = known.values.mean(axis=0), known.values.std(axis=0)
    return {
        "known_mean": tuple(np.where(kinds, 0.0, mean).tolist()),
        "known_scale": tuple(np.where(kinds | (scale == 0), 1.0, scale).tolist()),
        "known_least": tuple(known.values.min(axis=0).tolist()),
        "known_most": tuple(known.values.max(axis=0).tolist()),
        "num_knots": KNOTS if known.varies else 1,
    }


def to_tasks(
    table: SeriesTable,
    normalisation: Normalisation,
    origins: Float[np.ndarray, " series"] | None = None,
) -> RaggedTasks:
    """The series in the model's units.

    `origins` is where the clock of each series begins, if the table does not say it.
    """
    missing = np.isnan(table.values)
    origins = clock_origins(table.columns, table.began) if origins is None else origins
    ts = normalisation.to_model_times(table.times, np.repeat(origins, table.lengths))
    ys = _held(np.where(missing, 0.0, normalisation.to_model_values(table.values)))
    privileged = _held(normalisation.to_model_privileged(table.privileged))
    seen = Observations(
        ts.astype(np.float32), ys.astype(np.float32), gaps=missing if missing.any() else None
    )
    inputs = normalisation.to_inputs(table.known, origins)
    return RaggedTasks(seen, table.offsets, privileged.astype(np.float32), inputs)


def _held(numbers: np.ndarray) -> np.ndarray:
    """Numbers of the model, those farthest out no farther than its arithmetic goes."""
    return np.clip(numbers, -FARTHEST, FARTHEST)


def _origins_of_rows(table: SeriesTable) -> Float[np.ndarray, " row"]:
    """Where the clock of each row's series begins."""
    return np.repeat(clock_origins(table.columns, table.began), table.lengths)
