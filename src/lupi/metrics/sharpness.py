"""How narrow the predictions are: smaller is better only at the same calibration."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def sharpness(std: Float[Array, "*system time observation"]) -> Float[Array, "*system"]:
    """The mean predicted standard deviation: the sharpness of the paper's Table 1."""
    return jnp.mean(std, axis=(-2, -1))


def sharpness_variance(std: Float[Array, "*system time observation"]) -> Float[Array, "*system"]:
    """The mean predicted variance: sharpness as Kuleshov et al. (2018) define it."""
    return jnp.mean(std**2, axis=(-2, -1))
