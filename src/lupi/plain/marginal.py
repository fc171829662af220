"""The density of Normal numbers by plain loops, without LAPACK.

On few threads, batches of LAPACK's solves inside one compiled function have been seen to wait for
each other for ever: each waits for threads that the other holds. On matrices this small a loop is
no slower.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.custom_vjp
def log_density(
    covariance: Float[Array, "point point"], ys: Float[Array, " point"]
) -> Float[Array, ""]:
    """The logarithm of the density of Normal numbers with mean 0; NaN if there is no inverse."""
    return _forward(covariance, ys)[0]


def _forward(covariance, ys):
    inverse, log_determinant = _inverted(covariance)
    weights = inverse @ ys
    value = -0.5 * (ys @ weights + log_determinant + len(ys) * math.log(2 * math.pi))
    return value, (inverse, weights)


def _backward(saved, slope):
    inverse, weights = saved
    return 0.5 * slope * (jnp.outer(weights, weights) - inverse), -slope * weights


log_density.defvjp(_forward, _backward)


def _inverted(matrix: Float[Array, "point point"]):
    """The inverse of a positive definite matrix, and the logarithm of its determinant.

    By Gauss and Jordan's method, in place; such a matrix needs no other order of its rows.
    """

    def turn(k, state):
        found, log_determinant = state
        here = jnp.arange(len(matrix)) == k
        row, column, pivot = found[k], found[:, k], found[k, k]
        row = jnp.where(here, 1.0, row) / pivot
        rest = jnp.where(here, 0.0, found) - jnp.outer(column, row)
        return jnp.where(here[:, None], row, rest), log_determinant + jnp.log(pivot)

    begin = (matrix, jnp.zeros((), matrix.dtype))
    return jax.lax.fori_loop(0, len(matrix), turn, begin)
