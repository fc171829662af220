"""Predictions in original units, where these have limits."""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from lupi.data.normalisation import Normalisation
from lupi.distributions import AbstractNormalMixture, AnyArray, Normal, NormalMixture

SIGMA = (0.1587, 0.8413)
"""Between which a Normal distribution has one standard deviation to either side."""

LEVELS = (np.arange(64) + 0.5) / 64
"""At which quantiles are compared with a value."""

CENTRAL, STEPS = (0.05, 0.95), 32
"""Between which a mean is taken, and in how many steps: each has the share of the probability that
lies in it, so that gaps between humps count for nothing."""


def in_original_units(
    mixture: AbstractNormalMixture, normalisation: Normalisation
) -> AbstractNormalMixture:
    """A mixture of the model's as a distribution of what was measured."""
    if normalisation.limits:
        return LimitedMixture(mixture.means, mixture.scales, normalisation)
    scale = np.array(normalisation.observed_scale)
    means = normalisation.to_original_values(np.asarray(mixture.means, float))
    return NormalMixture(means, np.asarray(mixture.scales, float) * scale)


class LimitedMixture(AbstractNormalMixture):
    """What a mixture of Normals in the model's units says of quantities with limits.

    Quantiles and probabilities are the mixture's own, taken to original units, and the CRPS is the
    mean of the quantile scores. The mean is that of the central 90 %, and the standard deviation
    half of the central 68 %: far out in the tails of a logarithm lie numbers that nobody believes
    in, and that would outweigh all others.
    """

    means: Float[AnyArray, "*series component time observed"]
    scales: Float[AnyArray, "*series component time observed"]
    """In the model's units."""
    normalisation: Normalisation = eqx.field(static=True)

    @property
    def _own(self) -> NormalMixture:
        return NormalMixture(np.asarray(self.means), np.asarray(self.scales))

    @property
    def mean(self) -> Float[AnyArray, "*series time observed"]:
        """The mean of the central 90 %."""
        lower, upper = np.asarray(self._own.quantile(CENTRAL))
        edges = np.linspace(lower, upper, STEPS + 1)
        shares = np.diff(self._own.probability_below(edges), axis=0)
        middles = self.normalisation.to_original_values((edges[1:] + edges[:-1]) / 2)
        # Of something without width, where there are no shares, all middles are the same.
        shares = np.maximum(shares, np.finfo(shares.dtype).tiny)
        return np.sum(shares * middles, axis=0) / np.sum(shares, axis=0)

    @property
    def std(self) -> Float[AnyArray, "*series time observed"]:
        """Half of the central 68 %."""
        lower, upper = self.quantile(np.array(SIGMA))
        return (upper - lower) / 2

    @property
    def spread(self) -> Normal:
        """A Normal with the mean and the standard deviation of the components' medians."""
        medians = self.normalisation.to_original_values(np.asarray(self.means, float))
        number = medians.shape[-3]
        return Normal(self.mean, medians.std(axis=-3, ddof=1 if number > 1 else 0))

    def part(self, some: slice) -> "LimitedMixture":
        """Those of some series."""
        return LimitedMixture(self.means[some], self.scales[some], self.normalisation)

    def component_log_densities(self, values):
        """The logarithm of the density of each component at each value."""
        numbers = np.expand_dims(self.normalisation.to_model_values(values), -3)
        normal = Normal(np.asarray(self.means, float), np.asarray(self.scales, float))
        slopes = np.expand_dims(self.normalisation.log_slopes(values), -3)
        return np.asarray(normal.log_prob(numbers)) + slopes

    def log_density(self, values):
        """The logarithm of the probability density at each value; NaN stays NaN."""
        numbers = self.normalisation.to_model_values(values)
        return np.asarray(self._own.log_density(numbers)) + self.normalisation.log_slopes(values)

    def probability_below(self, values):
        """The probability of less than each value; NaN stays NaN."""
        return self._own.probability_below(self.normalisation.to_model_values(values))

    def quantile(self, level):
        """The values below which this share of the probability lies; a list gives one each."""
        return self.normalisation.to_original_values(self._own.quantile(level))

    def crps(self, values):
        """The continuous ranked probability score of each value, in its unit; NaN stays NaN."""
        errors = np.asarray(values, float) - self.quantile(LEVELS)
        levels = LEVELS.reshape(-1, *[1] * np.ndim(values))
        return 2 * np.maximum(levels * errors, (levels - 1) * errors).mean(axis=0)
