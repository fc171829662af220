"""What is predicted."""

from jaxtyping import Array, Float, Key

from lupi.distributions import AbstractNormalMixture, AnyArray, draw_components


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

    @property
    def samples(self) -> Float[AnyArray, "*task sample time observation"]:
        """Possible noisy trajectories, one for each Normal: draws from the full distribution."""
        return draw_components(self, self.key)
