"""Factors of small matrices by plain loops, without LAPACK.

On batches of matrices LAPACK's calls hand their work to XLA's threads and wait for it, while they
run on such a thread themselves: where there are few of them, two calls at a time wait for each
other for ever, also inside one compiled function. On matrices this small a loop is about as quick.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def factors_of(
    matrix: Float[Array, "row row"],
) -> tuple[Float[Array, "row row"], Float[Array, "row row"]]:
    """The lower triangular factor of a positive definite matrix (Cholesky's), and its inverse.

    By Gauss's elimination: what makes the matrix triangular makes the inverse of the identity. Not
    a number where rounding leaves no factor, as from LAPACK.
    """
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


def solve_positive(
    matrix: Float[Array, "row row"], vector: Float[Array, " row"]
) -> Float[Array, " row"]:
    """What times a positive definite matrix is the vector."""
    _, inverse = factors_of(matrix)
    return inverse.T @ (inverse @ vector)
