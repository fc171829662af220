"""The z of a whole series, where it is known in closed form."""

import jax
import jax.numpy as jnp
import numpy as np

from lupi.data import Observations
from lupi.inference.whole_series import explaining_latent
from toy_processes import NOISE, Known

TS = np.linspace(0, 1, 6, dtype=np.float32)
YS = (0.7 - 1.2 * TS + NOISE * np.sin(40 * TS)).astype(np.float32)
MEAN = np.array([0.3, -0.1])
PRECISION = np.array([[2.0, 0.5], [0.5, 1.0]])


def found(seen):
    """From an encoder that knows nothing."""
    process = Known("line")
    code = process.encode(seen)
    return jax.jit(explaining_latent)(process, seen, code, jnp.array(MEAN), jnp.array(PRECISION))


def expected(ts, ys):
    """By the formulas of linear regression."""
    design = np.stack([np.ones_like(ts), ts], axis=1).astype(float)
    precision = PRECISION + design.T @ design / NOISE**2
    return np.linalg.solve(precision, PRECISION @ MEAN + design.T @ ys / NOISE**2)


def test_it_is_the_most_likely_one():
    np.testing.assert_allclose(found(Observations(TS, YS[:, None])), expected(TS, YS), atol=2e-3)


def test_what_is_masked_or_a_gap_tells_nothing():
    ys = np.where(np.arange(6) < 4, YS, 50.0)[:, None].astype(np.float32)
    mask, gaps = np.arange(6) != 4, (np.arange(6) == 5)[:, None]
    np.testing.assert_allclose(
        found(Observations(TS, ys, mask, gaps)), expected(TS[:4], YS[:4]), atol=2e-3
    )
