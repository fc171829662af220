"""What forecasts score at each single point, to be averaged over any of them."""

import numpy as np
from jaxtyping import Bool, Float

from lupi.distributions import AbstractNormalMixture
from lupi.evaluation.scoring import SERIES_AT_ONCE
from lupi.metrics import Estimate, estimate

Points = dict[str, Float[np.ndarray, "series time observed"]]


def score_points(
    forecast: AbstractNormalMixture,
    y: Float[np.ndarray, "series time observed"],
    known: Bool[np.ndarray, "series time #observed"],
) -> Points:
    """`mse`, `crps`, `log_likelihood`, `std` and the coverages of every point, as `Scores` has them
    of series; any number where nothing was observed."""
    parts = []
    y = np.where(known, y, 0.0)
    for start in range(0, len(y), SERIES_AT_ONCE):
        some = slice(start, start + SERIES_AT_ONCE)
        part = forecast.part(some)
        values = y[some].astype(part.means.dtype)
        off = np.abs(np.asarray(part.probability_below(values)) - 0.5)
        parts.append(
            {
                "mse": (np.asarray(part.mean) - values) ** 2,
                "crps": np.asarray(part.crps(values)),
                "log_likelihood": np.asarray(part.log_density(values)),
                "std": np.asarray(part.std),
                "coverage_50": (off <= 0.25).astype(float),
                "coverage_90": (off <= 0.45).astype(float),
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def average(
    points: Points, chosen: Bool[np.ndarray, "series time #observed"]
) -> dict[str, Estimate]:
    """The mean of each series over the chosen points, and its mean over series that have any."""
    number = np.broadcast_to(chosen, points["mse"].shape).sum(axis=(1, 2))
    there = number > 0
    if not there.any():
        return {}
    sums = {name: np.where(chosen, values, 0.0).sum(axis=(1, 2)) for name, values in points.items()}
    return {name: estimate(total[there] / number[there]) for name, total in sums.items()}
