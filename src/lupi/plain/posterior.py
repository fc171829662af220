"""Gaussian processes of points of which only some were observed, and functions drawn from them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lupi._machinery.factors import factors_of
from lupi.distributions import AnyArray
from lupi.models import hermite

GRID = 48
"""Times at which functions are drawn."""

FAR = 1e6
"""The variance of what was not observed."""

LEAST_VARIANCE = 1e-6
"""Beside the noise, for float32."""


def observed_covariance(
    kernel, variance, ts: Float[AnyArray, " point"], known: Bool[AnyArray, " point"]
) -> Float[Array, "point point"]:
    """Of what is seen at points, with noise of this variance on those that were observed."""
    ts = jnp.asarray(ts)
    return kernel(ts, ts) + jnp.diag(jnp.where(known, variance + LEAST_VARIANCE, FAR))


def draw_functions(
    kernel,
    covariance: Float[Array, "point point"],
    ts: Float[AnyArray, " point"],
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
    _, inverse = factors_of(covariance)
    # By these formulas and not by tinygp's conditioned process, which factors the covariance of
    # all times too: that took most of the time.
    grid = jnp.linspace(0.0, float(horizon), GRID)
    everywhere = jnp.concatenate([times, grid])
    explained = inverse @ kernel(jnp.asarray(ts), everywhere)
    at_times, on_grid = explained[:, : len(times)], explained[:, len(times) :]
    mean = at_times.T @ (inverse @ ys)
    variance = kernel(times) - jnp.sum(at_times**2, axis=0)
    of_grid = kernel(grid, grid) - on_grid.T @ on_grid + 1e-4 * jnp.eye(GRID)
    factor, _ = factors_of(of_grid)
    position = jnp.clip(times / horizon, 0.0, 1.0) * (GRID - 1)
    drawn = jax.vmap(
        lambda f: hermite(position, f[:, None], jnp.asarray(jnp.gradient(f))[:, None])[:, 0]
    )(normals @ factor.T)
    drawn = (drawn - drawn.mean(axis=0)) / (drawn.std(axis=0) + 1e-6)
    return mean + jnp.sqrt(jnp.maximum(variance, 1e-10)) * drawn
