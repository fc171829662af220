"""Is a system like any that the model knows?"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lupi.distributions import AnyArray

STRANGE = 0.01
"""The surprise below which a system is called a stranger, here and everywhere."""

LEVELS = 64
"""Quantiles that are kept of each number of points."""

TAIL = 0.1
"""Of the lowest evidence: what lies below all that was seen goes on as this part does."""


SURE = 0.8
"""That no more systems of the family lie below than is said."""


class Surprise(eqx.Module):
    """How rarely a system of the family is as hard to explain as a given one.

    From the evidence of contexts of held-out series, for several numbers of points.
    """

    sizes: Float[AnyArray, " size"]
    """Numbers of points, increasing."""
    quantiles: Float[AnyArray, "size level"]
    """Of the log evidence, at even levels, increasing."""

    def p_value(
        self, log_evidence: Float[AnyArray, ""], number: Int[AnyArray, ""]
    ) -> Float[Array, ""]:
        """The share of held-out contexts of so many points with less evidence; 1 without any."""
        number_of_levels = self.quantiles.shape[1]
        levels = (jnp.arange(number_of_levels) + 0.5) / number_of_levels
        p = jnp.exp(_log_share_below(log_evidence, self._quantiles_at(number), levels))
        return jnp.where(number > 0, p, 1.0)

    def _quantiles_at(self, number: Int[AnyArray, ""]) -> Float[Array, " level"]:
        """Those of so many points; each point adds about as much evidence as the one before it."""
        sizes, quantiles = jnp.asarray(self.sizes), jnp.asarray(self.quantiles)
        if len(sizes) == 1:
            return quantiles[0]
        left = jnp.clip(jnp.searchsorted(sizes, number, side="right") - 1, 0, len(sizes) - 2)
        share = (number - sizes[left]) / (sizes[left + 1] - sizes[left])
        # In order also where it goes on beyond the largest number.
        return jnp.sort(quantiles[left] + share * (quantiles[left + 1] - quantiles[left]))


def _log_share_below(value, quantiles, levels):
    inside = jnp.log(jnp.interp(value, quantiles, levels, right=1.0))
    end = max(1, int(TAIL * len(levels)))
    width = jnp.maximum(quantiles[end] - quantiles[0], 1e-6)
    slope = (jnp.log(levels[end]) - jnp.log(levels[0])) / width
    return jnp.where(
        value < quantiles[0], jnp.log(levels[0]) + slope * (value - quantiles[0]), inside
    )


def fit_surprise(
    sizes: Int[np.ndarray, " size"],
    log_evidence: Float[np.ndarray, "size context"],
    *,
    num_series: int | None = None,
) -> Surprise:
    """From the evidence of many contexts of each size, of so many series; of as many by default.

    How far below the usual a system may lie is told by all sizes together, each in units of its
    own: systems at the edge of a family are few, and of one size perhaps none was among them. And
    the share of a family below the lowest of few values may be large. So each value has the share
    that is not exceeded with the confidence `SURE`, and not the one that was seen.
    """
    finite = np.nan_to_num(log_evidence, nan=-1e30, neginf=-1e30, posinf=1e30)
    lower, middle = np.quantile(finite, (0.25, 0.5), axis=1, keepdims=True)
    width = np.maximum(middle - lower, 1e-6)
    apart = np.sort(((finite - middle) / width).ravel())
    shares = _shares_below(apart.size, min(finite.shape[1], num_series or finite.shape[1]))
    quantiles = middle + width * _at_even_levels(apart, shares)
    return Surprise(sizes.astype(np.float32), quantiles.astype(np.float32))


def _shares_below(number: int, num_series: int) -> Float[np.ndarray, " value"]:
    """Upper bounds (Clopper's and Pearson's) of the share below each of so many sorted values."""
    from scipy.stats import beta

    seen = np.arange(number) / number * num_series
    return beta.ppf(SURE, seen + 1, num_series - seen)


def _at_even_levels(values: np.ndarray, shares: np.ndarray) -> Float[np.ndarray, " level"]:
    levels = np.log((np.arange(LEVELS) + 0.5) / LEVELS)
    shares = np.log(shares)
    end = min(max(1, int(TAIL * len(values))), len(values) - 1)
    slope = (values[end] - values[0]) / max(shares[end] - shares[0], 1e-6)
    beyond = values[0] + slope * (levels - shares[0])
    return np.where(levels < shares[0], beyond, np.interp(levels, shares, values))
