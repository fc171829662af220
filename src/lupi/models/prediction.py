"""What is predicted."""

import equinox as eqx
from jaxtyping import Array, Float, Key

from lupi.distributions import AbstractNormalMixture, AnyArray, Normal, draw_components


class Findings(eqx.Module):
    """What an inference found out of a system beside its trajectory."""

    privileged: Normal | None
    """The privileged values, of each sample of z: of shape (sample, privileged)."""
    log_evidence: Float[AnyArray, "*task"]
    """The logarithm of the density of the context under the model."""
    surprise: Float[AnyArray, "*task"]
    """The share of systems like those of training that are as hard to explain, or harder."""
    effective_share: Float[AnyArray, "*task"]
    """How many of the samples count; far below 1 they do not tell the distribution of z."""


class Prediction(AbstractNormalMixture):
    """What is predicted at each time, as one Normal for every sample of what could not be told.

    Two predictive distributions are made of them:

    - the *full* one, the mixture of these Normals: of it speak `mean`, `std`, `quantile`,
      `interval`, `log_density`, `probability_below` and `samples`;
    - `spread`, the paper's: a Normal with the mean and the standard deviation of the means over the
      samples of z. It leaves out the decoder's own uncertainty, and has the same mean.

    Arrays may have leading axes, over tasks.
    """

    ts: Float[AnyArray, "*task time"]
    means: Float[AnyArray, "*task sample time observation"]
    scales: Float[AnyArray, "*task sample time observation"]
    key: Key[Array, "*task"]
    """Of the noise in `samples`."""
    findings: Findings | None = None
    """Where the predictor has any."""

    @property
    def samples(self) -> Float[AnyArray, "*task sample time observation"]:
        """Possible noisy trajectories, one for each Normal: draws from the full distribution."""
        return draw_components(self, self.key)
