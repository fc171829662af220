"""How far off."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def mean_squared_error(
    mean: Float[Array, "*system time observation"], y: Float[Array, "*system time observation"]
) -> Float[Array, "*system"]:
    """The squared error of the predicted mean, averaged over the points of each system."""
    return jnp.mean((mean - y) ** 2, axis=(-2, -1))
