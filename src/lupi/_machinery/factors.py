"""Factors of small matrices by plain loops, without LAPACK.

On batches of matrices LAPACK's calls hand their work to XLA's threads and wait for it, while they
run on such a thread themselves: where there are few of them, two calls at a time wait for each
other for ever, also inside one compiled function. On matrices this small a loop is about as quick.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

LARGEST = 64
"""Rows that a loop goes through one by one."""


def factors_of(
    matrix: Float[Array, "row row"],
) -> tuple[Float[Array, "row row"], Float[Array, "row row"]]:
    """The lower triangular factor of a positive definite matrix (Cholesky's), and its inverse.

    By Gauss's elimination: what makes the matrix triangular makes the inverse of the identity. Of a
    large matrix by halves, so that most of the work is in products. Not a number where rounding
    leaves no factor, as from LAPACK.
    """
    if len(matrix) == 0:
        return matrix, matrix
    if len(matrix) > LARGEST:
        return _by_halves(matrix)
    places = jnp.arange(len(matrix))

    def turn(k, state):
        left, inverse, factor = state
        pivot = left[k, k]
        below = jnp.where(places > k, left[:, k] / pivot, 0.0)
        column = jnp.where(places >= k, left[:, k], 0.0) / jnp.sqrt(pivot)
        factor = jnp.where(places == k, column[:, None], factor)
        return left - below[:, None] * left[k], inverse - below[:, None] * inverse[k], factor

    begin = (matrix, jnp.eye(len(matrix), dtype=matrix.dtype), jnp.zeros_like(matrix))
    left, inverse, factor = jax.lax.fori_loop(0, len(matrix), turn, begin)
    return factor, inverse / jnp.sqrt(jnp.diagonal(left))[:, None]


def _by_halves(matrix):
    half = len(matrix) // 2
    upper, upper_inverse = factors_of(matrix[:half, :half])
    beside = matrix[half:, :half] @ upper_inverse.T
    lower, lower_inverse = factors_of(matrix[half:, half:] - beside @ beside.T)
    nothing = jnp.zeros((half, len(matrix) - half), matrix.dtype)
    across = -lower_inverse @ beside @ upper_inverse
    return (
        jnp.block([[upper, nothing], [beside, lower]]),
        jnp.block([[upper_inverse, nothing], [across, lower_inverse]]),
    )


def solve_positive(
    matrix: Float[Array, "row row"], vector: Float[Array, " row"]
) -> Float[Array, " row"]:
    """What times a positive definite matrix is the vector."""
    _, inverse = factors_of(matrix)
    return inverse.T @ (inverse @ vector)
