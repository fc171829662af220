"""Proper scores."""

import numpy as np
from jaxtyping import Bool, Float

from lupi.distributions import AbstractNormalMixture
from lupi.metrics.masking import mean_over_time


def crps(
    forecast: AbstractNormalMixture,
    y: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
) -> Float[np.ndarray, "*series observed"]:
    """The continuous ranked probability score of a value, in its unit; smaller is better."""
    return mean_over_time(np.asarray(forecast.crps(y)), known)


def log_likelihood(
    forecast: AbstractNormalMixture,
    y: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
) -> Float[np.ndarray, "*series observed"]:
    """The log density of a value, each on its own; larger is better."""
    return mean_over_time(np.asarray(forecast.log_density(y)), known)


def joint_log_likelihood(
    forecast: AbstractNormalMixture,
    y: Float[np.ndarray, "*series time observed"],
    known: Bool[np.ndarray, "*series time observed"],
) -> Float[np.ndarray, "*series"]:
    r"""The log density of all values of a series together, over their number; larger is better.

    $$\frac1n \log \frac1S \sum_s \prod_i N(y_i; \mu_{si}, \sigma_{si})$$ : within a component the
    values are independent; the mean is over components of the whole series' density. So it sees
    whether a forecast knows which values belong together, across columns too.
    """
    densities = forecast.component_log_densities(y)
    joint = np.where(np.expand_dims(known, -3), densities, 0.0).sum(axis=(-2, -1))
    largest = joint.max(axis=-1)
    total = np.log(np.exp(joint - largest[..., None]).mean(axis=-1)) + largest
    with np.errstate(invalid="ignore"):
        return total / known.sum(axis=(-2, -1))
