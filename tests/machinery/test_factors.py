"""Factors of matrices, against scipy's."""

import jax
import numpy as np
import pytest
from scipy import linalg

from lupi._machinery.factors import factors_of, solve_positive


def positive(size: int, spread: float = 1.0) -> np.ndarray:
    """A matrix whose eigenvalues go over so many powers of ten."""
    rng = np.random.default_rng(size)
    rotation, _ = linalg.qr(rng.standard_normal((size, size)))
    return (rotation * 10.0 ** np.linspace(0, spread, size)) @ rotation.T


@pytest.mark.parametrize("size", [1, 2, 7, 48, 150])
def test_factor_and_inverse_are_those_of_another_library(size):
    matrix = positive(size)
    factor, inverse = jax.jit(factors_of)(matrix.astype(np.float32))
    expected = linalg.cholesky(matrix, lower=True)
    np.testing.assert_allclose(factor, expected, atol=1e-5)
    np.testing.assert_allclose(inverse, linalg.inv(expected), atol=1e-5)


def test_many_at_once_are_what_each_is_alone():
    matrices = np.stack([positive(3, spread) for spread in (0.5, 1.0, 2.0)]).astype(np.float32)
    vectors = np.arange(9, dtype=np.float32).reshape(3, 3)
    found = jax.jit(jax.vmap(solve_positive))(matrices, vectors)
    expected = [linalg.solve(m.astype(float), v) for m, v in zip(matrices, vectors, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_where_there_is_no_factor_it_is_not_a_number():
    factor, inverse = jax.jit(factors_of)(np.diag([1.0, -1.0]).astype(np.float32))
    assert np.isnan(factor).any()
    assert np.isnan(inverse).any()
