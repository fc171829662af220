"""Gaussian processes of points of which only some were observed, and functions drawn from them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lupi.distributions import AnyArray
from lupi.models import hermite

GRID = 64
"""Times at which functions are drawn."""

FAR = 1e6
"""The variance of what was not observed."""

LEAST_VARIANCE = 1e-6
"""Beside the noise, for float32."""


def process_of(kernel, variance, ts: Float[AnyArray, " point"], known: Bool[AnyArray, " point"]):
    """A process at points, with noise of this variance on those that were observed."""
    from tinygp import GaussianProcess

    return GaussianProcess(
        kernel, jnp.asarray(ts), diag=jnp.where(known, variance + LEAST_VARIANCE, FAR)
    )


def draw_functions(
    process,
    ys: Float[Array, " point"],
    times: Float[Array, " time"],
    normals: Float[Array, "draw grid"],
    *,
    horizon: int,
) -> Float[Array, "draw time"]:
    """Functions from the posterior, whose mean and scatter at each time are its own.

    They are drawn on a grid of `GRID` times, from as many Normal numbers. What was not observed is
    0 in `ys`.
    """
    # No variance that is not its own: by default there is some on the diagonal.
    at_times = process.condition(ys, times, diag=jnp.array(0.0)).gp
    grid = jnp.linspace(0.0, float(horizon), GRID)
    on_grid = process.condition(ys, grid, diag=jnp.array(1e-4)).gp
    factor = jnp.linalg.cholesky(on_grid.covariance)
    position = jnp.clip(times / horizon, 0.0, 1.0) * (GRID - 1)
    drawn = jax.vmap(
        lambda f: hermite(position, f[:, None], jnp.asarray(jnp.gradient(f))[:, None])[:, 0]
    )(normals @ factor.T)
    drawn = (drawn - drawn.mean(axis=0)) / (drawn.std(axis=0) + 1e-6)
    return at_times.loc + jnp.sqrt(jnp.maximum(at_times.variance, 1e-10)) * drawn
