"""Kernels that a series may choose from, as one family with an index.

The logarithms of their hyperparameters stand in one vector, whichever of them a kernel makes use
of: the scale of a level, the scale of a course around it, its length, noise, period, roughness.
"""

from itertools import product

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

KERNELS = ("matern-5/2", "squared exponential", "quasi-periodic", "damped oscillation")

CENTRES = np.log([0.5, 1.0, 0.5, 0.05, 0.5, 1.0]).astype(np.float32)
WIDTHS = np.array([1.0, 0.5, 0.7, 0.7, 0.5, 0.7], np.float32)
"""Of a Normal prior of each logarithm: in standard deviations of a quantity over the training
systems, and in units of time, in which their span is 1."""

USED = np.array(
    [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]], bool
)
"""Which hyperparameters each kernel has."""

LEAST_NOISE = 3e-3
"""In units of the course: of float32's digits as many as a matrix of such kernels leaves."""


def _starts() -> Float[np.ndarray, "kernel start hyperparameter"]:
    """As many for each kernel: lengths, noises and, where it has one, periods."""
    shapes = {
        False: list(product((0.1, 0.2, 0.4, 0.8, 1.6, 3.2), (0.5,))),
        True: list(product((0.5, 2.0), (0.25, 0.5, 1.0))),
    }
    return np.array(
        [
            [
                np.log([0.5, 1.0, length, noise, period, 1.0])
                for length, period in shapes[bool(used[4])]
                for noise in (0.01, 0.1)
            ]
            for used in USED
        ],
        np.float32,
    )


STARTS = _starts()
"""Hyperparameters among which the search for the best begins."""


def kernel_of(kind: Int[Array, ""], logs: Float[Array, " hyperparameter"]):
    """One of the kernels, known by its index only when it is computed."""
    from tinygp import kernels

    level, course, length, _, period, roughness = jnp.exp(logs)

    def correlation(first, second):
        lag = jnp.abs(first - second)
        smooth = kernels.ExpSquared(length).evaluate(first, second)
        angle = 2 * jnp.pi * lag / period
        found = (
            kernels.Matern52(length).evaluate(first, second),
            smooth,
            smooth * kernels.ExpSineSquared(period, gamma=roughness).evaluate(first, second),
            jnp.exp(-lag / length)
            * (jnp.cos(angle) + period / length * jnp.sin(angle) / (2 * jnp.pi)),
        )
        return jnp.stack(found)[kind]

    return kernels.Constant(level**2) + course**2 * kernels.Custom(correlation)
