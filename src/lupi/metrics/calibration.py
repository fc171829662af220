"""Does what is given a probability happen that often?

All start from the probability integral transform (PIT): the predicted CDF at what was observed,
$F_t(y_t)$, which a calibrated forecaster makes uniform on [0, 1].
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

NUM_BINS = 50
"""The number of confidence levels, the paper's."""


def normal_pit(
    mean: Float[Array, "*points"], std: Float[Array, "*points"], y: Float[Array, "*points"]
) -> Float[Array, "*points"]:
    """The PIT of Normal predictions; without any spread it is 0 or 1, and a half at the mean."""
    smallest = jnp.finfo(std.dtype).tiny
    return jax.scipy.stats.norm.cdf((y - mean) / jnp.maximum(std, smallest))


def mixture_pit(
    means: Float[Array, "*system sample time observation"],
    scales: Float[Array, "*system sample time observation"],
    y: Float[Array, "*system time observation"],
) -> Float[Array, "*system time observation"]:
    """The PIT of equally weighted mixtures of Normals."""
    observed = jnp.expand_dims(y, -3)
    return jnp.mean(normal_pit(means, scales, jnp.broadcast_to(observed, means.shape)), axis=-3)


def calibration_curve(
    pit: Float[Array, "*system time observation"], *, num_levels: int = NUM_BINS
) -> Float[Array, "*system level"]:
    """How often, in each system, the PIT lies at or below each of the levels 1/n, 2/n, ..., 1."""
    levels = jnp.arange(1, num_levels + 1) / num_levels
    values = jnp.sort(pit.reshape(*pit.shape[:-2], -1), axis=-1)
    below = jnp.vectorize(
        lambda row: jnp.searchsorted(row, levels, side="right"), signature="(n)->(m)"
    )(values)
    return below / values.shape[-1]


def calibration_error(
    pit: Float[Array, "*system time observation"], *, num_bins: int = NUM_BINS
) -> Float[Array, "*system"]:
    r"""The paper's calibration error, of each system on its own.

    $$\sum_j (\hat p_j - m_j)^2$$ where $\hat p_j$ is the share of the system's points with a PIT
    in the first j of `num_bins` equal bins, and $m_j$ the *midpoint* of bin j. (Because a
    cumulative count belongs to the upper edge, perfect calibration scores
    `1 / (4 * num_bins)`, not 0; `pooled_calibration_error` has no such offset.)
    """
    midpoints = (jnp.arange(num_bins) + 0.5) / num_bins
    return jnp.sum((calibration_curve(pit, num_levels=num_bins) - midpoints) ** 2, axis=-1)


def pooled_calibration_error(
    pit: Float[Array, "system time observation"], *, num_levels: int = NUM_BINS
) -> Float[Array, ""]:
    r"""The calibration error of Kuleshov et al. (2018), all points of all systems pooled.

    $$\sum_j (\hat p_j - p_j)^2$$ where $\hat p_j$ is the share of all points with a PIT of at most
    the level $p_j = j / n$.
    """
    return _error_at_levels(calibration_curve(pit, num_levels=num_levels).mean(axis=0))


def pooled_calibration_error_stderr(
    pit: Float[Array, "system time observation"], *, num_levels: int = NUM_BINS
) -> Float[Array, ""]:
    """The standard error of the pooled calibration error: a jackknife over systems.

    Systems are left out whole because the points of one trajectory depend on each other.
    """
    curves = calibration_curve(pit, num_levels=num_levels)
    num_systems = curves.shape[0]
    without_one = (curves.sum(axis=0) - curves) / (num_systems - 1)
    errors = jax.vmap(_error_at_levels)(without_one)
    return jnp.sqrt((num_systems - 1) * jnp.var(errors))


def coverage(
    pit: Float[Array, "*system time observation"], *, level: float
) -> Float[Array, "*system"]:
    """The share of each system's points inside the central interval of probability `level`."""
    inside = jnp.abs(pit - 0.5) <= level / 2
    return jnp.mean(inside, axis=(-2, -1))


def _error_at_levels(curve: Float[Array, " level"]) -> Float[Array, ""]:
    levels = jnp.arange(1, curve.size + 1) / curve.size
    return jnp.sum((curve - levels) ** 2)
