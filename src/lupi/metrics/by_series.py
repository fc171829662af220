"""Calibration where every series counts as one, since the values of one are alike."""

import numpy as np
from jaxtyping import Float, Int


def pit_shares(
    pit: Float[np.ndarray, " value"], series: Int[np.ndarray, " value"], *, num_bins: int
) -> Float[np.ndarray, " bin"]:
    """The share of each of equal bins of the PIT, the mean over series; NaN is no value.

    Honest forecasts have about the same in all of them.
    """
    known = ~np.isnan(pit)
    _, series = np.unique(series[known], return_inverse=True)
    places = np.clip((pit[known] * num_bins).astype(int), 0, num_bins - 1)
    weights = 1 / np.bincount(series)[series]
    return np.bincount(places, weights, minlength=num_bins) / max(series.max(initial=-1) + 1, 1)


def chance_band(num_series: int, *, num_bins: int, level: float = 0.9) -> tuple[float, float]:
    """Between which shares a bin of honest forecasts lies with this probability.

    As if each series had one value: where the values of a series are not quite alike, chance
    leaves less.
    """
    from scipy.stats import binom

    ends = binom.ppf([(1 - level) / 2, (1 + level) / 2], num_series, 1 / num_bins)
    return float(ends[0] / num_series), float(ends[1] / num_series)
