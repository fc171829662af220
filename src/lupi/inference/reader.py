"""Privileged values, read off what a z decodes to."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lupi._machinery.compilation import padded_size
from lupi.distributions import AnyArray, Normal

LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Of the kernel, in median distances between members: the candidates."""

NOISES = tuple(10.0 ** np.arange(-5, 1.5, 0.5))
"""Variances of what a trajectory does not tell, of a value of variance 1: the candidates."""

NEGLIGIBLE, MOST_AXES = 1e-8, 16
"""Share of the variance of trajectories below which a direction says nothing; and how many are
looked at, of those that say most."""

EXACT = 1e-6
"""Of a value, what is left open at least: its digits."""


class Reader(eqx.Module):
    """A Gaussian process from the trajectory of a system to its privileged values.

    Of the trajectory, not of z: z has directions that change nothing one could observe.
    """

    centre: Float[AnyArray, " feature"]
    axes: Float[AnyArray, "feature axis"]
    inputs: Float[AnyArray, "member axis"]
    weights: Float[AnyArray, "member privileged"]
    precisions: Float[AnyArray, " privileged"]
    """Of the kernels: one over twice the squared length."""
    mean: Float[AnyArray, " privileged"]
    error: Float[AnyArray, " privileged"]
    """The standard deviation of what it cannot tell, from members left out one at a time."""

    def __call__(self, trajectory: Float[AnyArray, "time observation"]) -> Normal:
        """The privileged values of a system, from its trajectory on the family's grid."""
        x = (trajectory.ravel() - self.centre) @ self.axes
        squares = jnp.sum((x - self.inputs) ** 2, axis=-1)
        kernel = jnp.exp(-squares[:, None] * self.precisions)
        values: Array = self.mean + jnp.sum(kernel * self.weights, axis=0)
        return Normal(values, jnp.broadcast_to(self.error, values.shape))


def fit_reader(
    trajectories: Float[np.ndarray, "member time observation"],
    privileged: Float[np.ndarray, "member privileged"],
) -> Reader:
    """Learn from members of a family; a value that is not known (NaN) is left out."""
    features = trajectories.reshape(len(trajectories), -1).astype(float)
    centre = features.mean(axis=0)
    _, sizes, rotated = np.linalg.svd(features - centre, full_matrices=False)
    telling = sizes**2 > NEGLIGIBLE * np.sum(sizes**2)
    axes = rotated[telling][:MOST_AXES].T
    inputs = (features - centre) @ axes
    distances = ((inputs[:, None] - inputs) ** 2).sum(axis=-1)
    median = np.median(distances[np.triu_indices(len(inputs), 1)]) if len(inputs) > 1 else 1.0
    columns = [_fit_column(distances, median, column) for column in privileged.T]
    mean, precisions, error, weights = zip(*columns, strict=True)
    parts = centre, axes, inputs, np.stack(weights, axis=-1), precisions, mean, error
    return Reader(*(np.asarray(part, np.float32) for part in parts))


def of_one_size(readers: Sequence[Reader]) -> list[Reader]:
    """The same readers, with as many axes each: one of zeros tells nothing.

    And of few sizes, of which few are compiled.
    """
    number = padded_size(max(reader.axes.shape[1] for reader in readers), 8)

    def padded(values: AnyArray) -> np.ndarray:
        return np.pad(np.asarray(values), ((0, 0), (0, number - values.shape[1])))

    return [
        eqx.tree_at(
            lambda one: (one.axes, one.inputs), reader, (padded(reader.axes), padded(reader.inputs))
        )
        for reader in readers
    ]


def _fit_column(distances: np.ndarray, median: float, values: np.ndarray):
    """Mean, kernel precision, error and weights of one privileged column."""
    known = ~np.isnan(values)
    mean, scale = values[known].mean(), values[known].std() + 1e-12
    targets, among = (values[known] - mean) / scale, distances[np.ix_(known, known)]
    best = None
    for length in LENGTHS:
        precision = 1 / (2 * length**2 * max(median, 1e-12))
        sizes, vectors = np.linalg.eigh(np.exp(-among * precision))
        rotated = vectors.T @ targets
        for noise in NOISES:
            damped = 1 / (np.maximum(sizes, 0) + noise)
            solution = vectors @ (damped * rotated)
            spread = (vectors**2) @ damped
            residuals = solution / spread  # of each member, predicted from the others
            variances = 1 / spread
            score = np.mean(residuals**2 / variances + np.log(variances))
            if best is None or score < best[0]:
                best = score, precision, np.sqrt(np.mean(residuals**2)), solution
    assert best is not None
    _, precision, error, solution = best
    weights = np.zeros(len(values))
    weights[known] = solution * scale
    # Of a value that is one and the same, what its digits do not tell: nothing has no width at all.
    return mean, precision, max(error * scale, EXACT * max(abs(mean), scale)), weights
