"""Proper scores of mixtures of Normals, one component for each sample of z."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def log_likelihood(
    means: Float[Array, "*system sample time observation"],
    scales: Float[Array, "*system sample time observation"],
    y: Float[Array, "*system time observation"],
) -> Float[Array, "*system"]:
    r"""The log density of each system's points together, divided by their number.

    $$\frac1n \log \frac1S \sum_s \prod_i N(y_i; \mu_{si}, \sigma_{si})$$ : within a sample of z the
    points are independent; the mean is over samples of z of the whole trajectory's density.
    """
    densities = jax.scipy.stats.norm.logpdf(jnp.expand_dims(y, -3), means, scales)
    joint = densities.sum(axis=(-2, -1))
    num_samples, num_points = means.shape[-3], means.shape[-2] * means.shape[-1]
    return (jax.nn.logsumexp(joint, axis=-1) - jnp.log(num_samples)) / num_points


def crps(
    means: Float[Array, "*system sample time observation"],
    scales: Float[Array, "*system sample time observation"],
    y: Float[Array, "*system time observation"],
) -> Float[Array, "*system"]:
    r"""The continuous ranked probability score, averaged over the points of each system.

    $$\int (F(x) - 1\{x \ge y\})^2 dx$$ in its closed form, in the units of `y`; smaller is better.
    """
    import scoringrules  # a quarter of a second that training can do without

    scores = scoringrules.crps_mixnorm(
        y, jnp.moveaxis(means, -3, -1), jnp.moveaxis(scales, -3, -1), backend="jax"
    )
    return jnp.mean(jnp.asarray(scores), axis=(-2, -1))
