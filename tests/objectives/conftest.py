"""A split, and what a linear Gaussian process says of it in closed form."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lupi.data import Split
from toy_processes import LINEAR_NOISE, LinearGaussian


@pytest.fixture(scope="session")
def split(observations):
    return Split(observations.only(jnp.arange(10) < 8), jnp.arange(10) < 4)


@pytest.fixture(scope="session")
def without_context(split):
    return Split(split.target, jnp.zeros(10, bool))


def evidence_of(split) -> float:
    """log p(y_T | C), where z is Normal as the context says: y is Normal, by scipy."""
    ts, ys = (np.asarray(part, np.float64)[:8] for part in (split.target.ts, split.target.ys))
    slopes = np.stack([1 + ts, np.cos(3 * ts)], axis=-1)
    z = LinearGaussian().encode(split.context).latent
    mean, scale = (np.asarray(part, np.float64) for part in (z.loc, z.scale))
    return sum(
        stats.multivariate_normal.logpdf(
            ys[:, j],
            slopes[:, j] * mean[j],
            np.outer(slopes[:, j], slopes[:, j]) * scale[j] ** 2 + LINEAR_NOISE**2 * np.eye(8),
        )
        for j in (0, 1)
    )


@pytest.fixture(scope="session")
def evidence(without_context):
    return evidence_of(without_context)


@pytest.fixture(scope="session")
def evidence_given_context(split):
    return evidence_of(split)
