"""What predictions score, once it is known what came."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from lupi import metrics
from lupi.distributions import AbstractNormalMixture
from lupi.metrics import CalibrationCurve, Estimate

LEVELS = (0.5, 0.9, 0.95)
"""Of the central intervals whose coverage is counted."""

SERIES_AT_ONCE = 100
"""Scored in one batch, to bound memory."""


class Scores(NamedTuple):
    """What each column of each series scores.

    Of the full predictive distribution: `mse` of the mean, `crps`, `log_likelihood` of a value,
    `std` (the mean predicted standard deviation), `coverage_50`, `_90` and `_95` of the central
    intervals, and `calibration_error`, Kuleshov's, all series pooled; `joint_log_likelihood` of a
    whole series for each of its values. Of the paper's distribution, the spread of the means:
    `spread_calibration_error`, the paper's, of each series on its own,
    `spread_calibration_error_pooled`, `spread_std` and `spread_variance`.
    """

    values: dict[str, Float[np.ndarray, "series observed"]]
    number: Int[np.ndarray, "series observed"]
    """Of values that were observed."""
    joint_log_likelihood: Float[np.ndarray, " series"]
    curve: CalibrationCurve
    spread_curve: CalibrationCurve
    """Both of each column of each series."""

    @classmethod
    def joined(cls, parts: Sequence["Scores"]) -> "Scores":
        """Those of several sets of series as one."""

        def curves(name: str) -> CalibrationCurve:
            found = [getattr(part, name) for part in parts]
            return CalibrationCurve(
                *(np.concatenate(arrays) for arrays in zip(*found, strict=True))
            )

        return cls(
            {
                name: np.concatenate([part.values[name] for part in parts])
                for name in parts[0].values
            },
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.joint_log_likelihood for part in parts]),
            curves("curve"),
            curves("spread_curve"),
        )

    def by_series(self) -> dict[str, Float[np.ndarray, " series"]]:
        """Each metric of each series, all columns together; NaN where nothing was observed."""
        return {
            name: metrics.mean_over_columns(values, self.number)
            for name, values in self.values.items()
        }

    def overall(self) -> dict[str, Estimate]:
        """Each metric's mean and standard error over series, all columns together."""
        rows = self.by_series() | {"joint_log_likelihood": self.joint_log_likelihood}
        return _estimates(rows, self.curve.over(1), self.spread_curve.over(1))

    def by_column(self, names: Sequence[str]) -> dict[str, dict[str, Estimate]]:
        """For each observed column, each metric's mean and standard error over series.

        Columns of which nothing was observed are left out.
        """
        return {
            name: _estimates(
                {
                    metric: values[self.number[:, j] > 0, j]
                    for metric, values in self.values.items()
                },
                *(
                    CalibrationCurve(curve.below[:, j], curve.number[:, j])
                    for curve in (self.curve, self.spread_curve)
                ),
            )
            for j, name in enumerate(names)
            if self.number[:, j].any()
        }


def _estimates(
    rows: dict[str, np.ndarray], curve: CalibrationCurve, spread_curve: CalibrationCurve
) -> dict[str, Estimate]:
    found = {name: metrics.estimate(values) for name, values in rows.items()}
    roots = {f"r{name}": found[name].root() for name in found if name.startswith("mse")}
    found = roots | found
    curve, spread_curve = (
        CalibrationCurve(c.below[c.number > 0], c.number[c.number > 0])
        for c in (curve, spread_curve)
    )
    of_series = metrics.paper_calibration_error(spread_curve)
    found["spread_calibration_error"] = metrics.estimate(of_series)
    for name, some in (
        ("calibration_error", curve),
        ("spread_calibration_error_pooled", spread_curve),
    ):
        stderr = metrics.pooled_calibration_stderr(some) if len(some.number) > 1 else None
        found[name] = Estimate(
            float(metrics.calibration_error(some.over(0))),
            None if stderr is None else float(stderr),
        )
    return found


def score(
    forecast: AbstractNormalMixture,
    y: Float[np.ndarray, "series time observed"],
    known: Bool[np.ndarray, "series time #observed"] | None = None,
) -> Scores:
    """Score forecasts of many series at once; `known` says which values were observed."""
    known = np.ones(y.shape, bool) if known is None else np.broadcast_to(known, y.shape)
    parts = []
    for start in range(0, len(y), SERIES_AT_ONCE):
        some = slice(start, start + SERIES_AT_ONCE)
        parts.append(_score(forecast.part(some), y[some], known[some]))
    return Scores.joined(parts)


def _score(forecast: AbstractNormalMixture, y: np.ndarray, known: np.ndarray) -> Scores:
    y = np.where(known, y, 0.0).astype(forecast.means.dtype)
    pit, spread = np.asarray(forecast.probability_below(y)), forecast.spread
    values = {
        "mse": metrics.squared_error(forecast, y, known),
        "crps": metrics.crps(forecast, y, known),
        "log_likelihood": metrics.log_likelihood(forecast, y, known),
        "std": metrics.mean_over_time(np.asarray(forecast.std), known),
    }
    for level in LEVELS:
        values[f"coverage_{round(100 * level)}"] = metrics.coverage(pit, known, level=level)
    values["spread_std"] = metrics.mean_over_time(np.asarray(spread.scale), known)
    values["spread_variance"] = metrics.mean_over_time(np.asarray(spread.scale) ** 2, known)
    return Scores(
        values,
        known.sum(axis=-2),
        metrics.joint_log_likelihood(forecast, y, known),
        metrics.calibration_curve(pit, known),
        metrics.calibration_curve(metrics.spread_pit(spread, y), known),
    )
