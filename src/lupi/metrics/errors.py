"""How far off."""

import numpy as np
from jaxtyping import Bool, Float

from lupi.distributions import AbstractNormalMixture
from lupi.metrics.masking import mean_over_time


def squared_error(
    forecast: AbstractNormalMixture,
    y: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
) -> Float[np.ndarray, "*series observed"]:
    """The squared error of the mean forecast, averaged over the known points of each series."""
    return mean_over_time((np.asarray(forecast.mean) - y) ** 2, known)
