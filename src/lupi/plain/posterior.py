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

ROUNDING = 1e-6
"""Of float32: what a matrix needs on its diagonal to have a factor, for each row and unit of
variance."""

CORRECTIONS = 8
"""Of a solution: after two of them the mean of 256 points is still off by a hundredth."""


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
    # By these formulas and not by tinygp's conditioned process, which factors the covariance of
    # all times too: that took most of the time.
    grid = jnp.linspace(0.0, float(horizon), GRID)
    everywhere = jnp.concatenate([times, grid])
    shared = kernel(jnp.asarray(ts), everywhere)
    weights, left = _solved(covariance, shared, jnp.max(kernel(jnp.asarray(ts)), initial=0.0))
    at_times, on_grid = weights[:, : len(times)], weights[:, len(times) :]
    mean = at_times.T @ ys
    # The variance of this very estimate: of the second order in what is wrong with the weights.
    twice = shared + left
    variance = kernel(times) - jnp.sum(at_times * twice[:, : len(times)], axis=0)
    explained = on_grid.T @ twice[:, len(times) :]
    of_grid = kernel(grid, grid) - (explained + explained.T) / 2 + 1e-4 * jnp.eye(GRID)
    factor, _ = factors_of(of_grid)
    position = jnp.clip(times / horizon, 0.0, 1.0) * (GRID - 1)
    drawn = jax.vmap(
        lambda f: hermite(position, f[:, None], jnp.asarray(jnp.gradient(f))[:, None])[:, 0]
    )(normals @ factor.T)
    drawn = (drawn - drawn.mean(axis=0)) / (drawn.std(axis=0) + 1e-6)
    return mean + jnp.sqrt(jnp.maximum(variance, 1e-10)) * drawn


def _solved(
    matrix: Float[Array, "point point"],
    values: Float[Array, "point time"],
    largest: Float[Array, ""],
) -> tuple[Float[Array, "point time"], Float[Array, "point time"]]:
    """What the matrix times is the values, and what is still missing of them.

    Of many points of a smooth course with hardly any noise float32 finds no factor, or one whose
    variances are below 0 by more than they are. So some more noise is taken for the factor, and its
    solution corrected by what it leaves of the values under the noise there is.
    """
    _, inverse = factors_of(matrix + ROUNDING * len(matrix) * largest * jnp.eye(len(matrix)))
    solution = inverse.T @ (inverse @ values)
    for _ in range(CORRECTIONS):
        solution += inverse.T @ (inverse @ (values - matrix @ solution))
    return solution, values - matrix @ solution
