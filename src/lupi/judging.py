"""A forecaster, judged on series it has not seen, in original units."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lupi.data.normalisation import series_starts
from lupi.data.series_table import SeriesTable, original_times
from lupi.errors import UserError
from lupi.forecast import Forecast
from lupi.forecaster import Forecaster
from lupi.metrics import estimate, pooled_calibration_error

LEVELS = (0.5, 0.9, 0.95)


class Judgement(NamedTuple):
    """How a forecaster did, and what that was found from."""

    metrics: dict[str, dict[str, dict[str, float | None]]]
    """For each observed column, `mean` and `stderr` over series of each metric."""
    forecast: Forecast
    """Of all observations that were held back."""
    truth: Float[np.ndarray, "row observed"]
    """What was observed there; NaN where nothing was."""
    pit: Float[np.ndarray, "row observed"]
    """The predicted probability of a value below the one observed."""


def judge(
    forecaster: Forecaster,
    table: SeriesTable,
    *,
    context_sizes: tuple[int, int] = (5, 9),
    num_samples: int = 64,
    seed: int = 0,
) -> Judgement:
    """Show the forecaster some random observations of each series, and ask it for all others.

    Of the full predictive distribution, on the observations held back: `rmse` of the mean,
    `rmse_of_training_mean` (what a forecaster scores that knows nothing of a series), `crps`,
    `log_likelihood` of a value, `coverage_50`, `_90`, `_95` of the central intervals,
    `calibration_error` (Kuleshov's, all values pooled), and `std`, the mean predicted standard
    deviation.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(context_sizes[0], context_sizes[1], len(table), endpoint=True)
    shown = np.zeros(len(table.times), bool)
    for i, size in enumerate(sizes):
        rows = np.arange(*table.offsets[i : i + 2])
        if len(rows) < 2:
            raise UserError(
                f"series {table.labels[i]} has {len(rows)} observations, judging needs at least 2, "
                "one to show and one to hold back: leave it out."
            )
        shown[rng.choice(rows, min(size, len(rows) - 1), replace=False)] = True
    context, held_back = table.rows(shown), table.rows(~shown)
    times = {
        label: original_times(table.columns, held_back.times[slice(*held_back.offsets[i : i + 2])])
        for i, label in enumerate(held_back.labels)
    }
    began = original_times(table.columns, series_starts(table))
    forecast = forecaster.predict(
        context,
        times,
        starts=dict(zip(table.labels, began, strict=True)),
        num_samples=num_samples,
        seed=seed,
    )
    pit = forecast.probability_below(held_back.values)
    metrics = _metrics(forecast, held_back, pit, np.array(forecaster.normalisation.observed_mean))
    return Judgement(metrics, forecast, held_back.values, pit)


def _metrics(forecast: Forecast, truth: SeriesTable, pit, training_mean) -> dict[str, Any]:
    from scoringrules import crps_ensemble

    y = truth.values
    filled = np.where(np.isnan(y), 0.0, y)
    scores = {
        "rmse": (forecast.mean - y) ** 2,
        "rmse_of_training_mean": (training_mean - y) ** 2,
        "crps": np.asarray(crps_ensemble(filled, forecast.samples, m_axis=0, backend="numpy")),
        "log_likelihood": forecast.log_density(y),
        "std": forecast.std,
    }
    for level in LEVELS:
        scores[f"coverage_{level:.0%}".rstrip("%")] = (np.abs(pit - 0.5) <= level / 2).astype(float)
    series = np.repeat(np.arange(len(truth)), truth.lengths)
    metrics: dict[str, Any] = {}
    for j, name in enumerate(truth.columns.observed):
        there = ~np.isnan(y[:, j])
        counts = np.bincount(series[there], minlength=len(truth))
        metrics[name] = {}
        for metric, values in scores.items():
            sums = np.bincount(series[there], values[there, j], minlength=len(truth))
            per_series = sums[counts > 0] / counts[counts > 0]
            mean, stderr = estimate(per_series)
            if metric.startswith("rmse"):  # of all series together, and its error from theirs
                mean, stderr = np.sqrt(mean), stderr and stderr / (2 * np.sqrt(mean))
            metrics[name][metric] = {"mean": float(mean), "stderr": stderr and float(stderr)}
        error = pooled_calibration_error(jnp.asarray(pit[there, j])[None, :, None])
        metrics[name]["calibration_error"] = {"mean": float(error), "stderr": None}
    return metrics
