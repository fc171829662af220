"""Does what is given a probability happen that often?

All start from the probability integral transform (PIT): the predicted CDF at what was observed,
$F_t(y_t)$, which a calibrated forecaster makes uniform on [0, 1].
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from lupi.distributions import Normal
from lupi.metrics.masking import mean_over_time

NUM_LEVELS = 50
"""The number of confidence levels, the paper's."""


def spread_pit(
    spread: Normal, y: Float[np.ndarray, "*series time observed"]
) -> Float[np.ndarray, "*series time observed"]:
    """The PIT of Normal predictions; without any spread it is 0 or 1, and a half at the mean."""
    from scipy.special import ndtr  # a fifth of a second that training can do without

    scale = np.asarray(spread.scale)
    with np.errstate(over="ignore"):
        return ndtr((y - np.asarray(spread.loc)) / np.maximum(scale, np.finfo(scale.dtype).tiny))


class CalibrationCurve(NamedTuple):
    """How many PITs lie at or below each of the levels 1/n, 2/n, ..., 1."""

    below: Int[np.ndarray, "*groups level"]
    number: Int[np.ndarray, "*groups"]
    """Of PITs, in each group."""

    @property
    def share(self) -> Float[np.ndarray, "*groups level"]:
        """The share of them."""
        with np.errstate(invalid="ignore"):
            return self.below / self.number[..., None]

    def over(self, axis: int) -> "CalibrationCurve":
        """All groups along an axis together: of (series, column), 0 pools the series, 1 columns."""
        return CalibrationCurve(self.below.sum(axis=axis), self.number.sum(axis=axis))


def calibration_curve(
    pit: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
    *,
    num_levels: int = NUM_LEVELS,
) -> CalibrationCurve:
    """The curve of each column of each series."""
    # The first level that each PIT is not above; float32, in which forecasts are, at both.
    levels = (np.arange(1, num_levels + 1) / num_levels).astype(pit.dtype)
    first = np.searchsorted(levels, np.where(known, pit, 0.0), side="left")
    *series, _, observed = pit.shape
    groups = np.arange(int(np.prod(series)) * observed).reshape(*series, 1, observed)
    cells = (groups * (num_levels + 1) + np.minimum(first, num_levels))[known]
    counts = np.bincount(cells, minlength=groups.size * (num_levels + 1))
    counts = counts.reshape(*series, observed, num_levels + 1)
    return CalibrationCurve(counts[..., :-1].cumsum(axis=-1), known.sum(axis=-2))


def paper_calibration_error(curve: CalibrationCurve) -> Float[np.ndarray, "*groups"]:
    r"""The paper's calibration error, of each group on its own.

    $$\sum_j (\hat p_j - m_j)^2$$ where $\hat p_j$ is the share of the points with a PIT in the
    first j of n equal bins, and $m_j$ the *midpoint* of bin j. (Because a cumulative count belongs
    to the upper edge, perfect calibration scores 1 / (4n), not 0; `calibration_error` has no such
    offset.)
    """
    num_levels = curve.below.shape[-1]
    midpoints = (np.arange(num_levels) + 0.5) / num_levels
    return np.asarray(((curve.share - midpoints) ** 2).sum(axis=-1))


def calibration_error(curve: CalibrationCurve) -> Float[np.ndarray, "*groups"]:
    r"""The calibration error of Kuleshov et al. (2018), of each group on its own.

    $$\sum_j (\hat p_j - p_j)^2$$ where $\hat p_j$ is the share of the points with a PIT of at most
    the level $p_j = j / n$. Their own pools all series: `curve.over(0)`.
    """
    num_levels = curve.below.shape[-1]
    levels = np.arange(1, num_levels + 1) / num_levels
    return np.asarray(((curve.share - levels) ** 2).sum(axis=-1))


def pooled_calibration_stderr(curve: CalibrationCurve) -> Float[np.ndarray, "*groups"]:
    """The standard error of `calibration_error(curve.over(0))`: a jackknife over series.

    Series are left out whole because the points of one depend on each other.
    """
    everything = curve.over(0)
    without_one = CalibrationCurve(everything.below - curve.below, everything.number - curve.number)
    errors = calibration_error(without_one)
    return np.asarray(np.sqrt((len(errors) - 1) * errors.var(axis=0)))


def coverage(
    pit: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
    *,
    level: float,
) -> Float[np.ndarray, "*series observed"]:
    """The share of each series' points inside the central interval of probability `level`."""
    return mean_over_time((np.abs(pit - 0.5) <= level / 2).astype(float), known)
