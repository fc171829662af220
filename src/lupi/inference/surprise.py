"""Is a system like any that the model knows?"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lupi.distributions import AnyArray

LEVELS = 64
"""Quantiles that are kept of each number of points."""

TAIL = 0.1
"""Of the lowest evidence: what lies below all that was seen goes on as this part does."""


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
        logs = jax.vmap(lambda row: _log_share_below(log_evidence, row, levels))(self.quantiles)
        p = jnp.exp(jnp.interp(jnp.log(jnp.maximum(number, 1)), jnp.log(self.sizes), logs))
        return jnp.where(number > 0, p, 1.0)


def _log_share_below(value, quantiles, levels):
    inside = jnp.log(jnp.interp(value, quantiles, levels, right=1.0))
    end = max(1, int(TAIL * len(levels)))
    width = jnp.maximum(quantiles[end] - quantiles[0], 1e-6)
    slope = (jnp.log(levels[end]) - jnp.log(levels[0])) / width
    return jnp.where(
        value < quantiles[0], jnp.log(levels[0]) + slope * (value - quantiles[0]), inside
    )


def fit_surprise(
    sizes: Int[np.ndarray, " size"], log_evidence: Float[np.ndarray, "size context"]
) -> Surprise:
    """From the evidence of many contexts of each size."""
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    finite = np.nan_to_num(log_evidence, nan=-1e30, neginf=-1e30, posinf=1e30)
    quantiles = np.quantile(finite, levels, axis=1).T
    return Surprise(sizes.astype(np.float32), quantiles.astype(np.float32))
