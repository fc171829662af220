"""Averages over what was observed."""

import numpy as np
from jaxtyping import Bool, Float


def mean_over_time(
    values: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
) -> Float[np.ndarray, "*series observed"]:
    """The mean of each column of each series, where it is known; NaN where nothing is."""
    total = np.where(known, values, 0.0).sum(axis=-2, dtype=float)
    with np.errstate(invalid="ignore"):
        return total / known.sum(axis=-2)
