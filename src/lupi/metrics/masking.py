"""Averages over what was observed."""

import numpy as np
from jaxtyping import Bool, Float, Int


def mean_over_time(
    values: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
) -> Float[np.ndarray, "*series observed"]:
    """The mean of each column of each series, where it is known; NaN where nothing is."""
    total = np.where(known, values, 0.0).sum(axis=-2, dtype=float)
    with np.errstate(invalid="ignore"):
        return total / known.sum(axis=-2)


def mean_over_columns(
    values: Float[np.ndarray, "series observed"], number: Int[np.ndarray, "series observed"]
) -> Float[np.ndarray, " series"]:
    """The mean of each series over its columns, each by the number of its known values."""
    with np.errstate(invalid="ignore"):  # NaN where nothing is known
        weights = number / number.sum(axis=1, keepdims=True)
    return (np.where(number > 0, values, 0.0) * weights).sum(axis=1)
