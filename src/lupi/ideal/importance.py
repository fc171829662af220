"""Importance sampling: weighted points, and the densities that they are drawn from."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

DEGREES = 4
"""Of freedom of a Student distribution: tails heavy enough that no weight stands out."""

NARROWEST = 1e-6
"""In any direction, of a density around points: ten times what float32 can tell apart at 1."""

HALVINGS = 24
"""Of the bracket around a temperature's logarithm."""


class StudentMixture(eqx.Module):
    """A mixture of multivariate Student distributions: centre + root x noise."""

    weights: Float[Array, " component"]
    centres: Float[Array, "component parameter"]
    roots: Float[Array, "component parameter parameter"]
    whitenings: Float[Array, "component parameter parameter"]
    """The inverses of the roots. Both are triangular, with positive diagonals."""

    def sample(self, num: int, *, key: PRNGKeyArray) -> Float[Array, "point parameter"]:
        """So many points."""
        component_key, noise_key = jax.random.split(key)
        chosen = pick(self.weights, num, key=component_key)
        size = self.centres.shape[-1]
        normals = jax.random.normal(noise_key, (num, size + DEGREES))
        stretch = jnp.sqrt(DEGREES / (normals[:, size:] ** 2).sum(axis=-1, keepdims=True))
        noise = jnp.einsum("nij,nj->ni", self.roots[chosen], normals[:, :size])
        return self.centres[chosen] + noise * stretch

    def log_density(self, points: Float[Array, "point parameter"]) -> Float[Array, " point"]:
        """The logarithm of the density at each point."""
        components, size = self.centres.shape
        constant = (
            math.lgamma((DEGREES + size) / 2)
            - math.lgamma(DEGREES / 2)
            - size / 2 * math.log(DEGREES * math.pi)
        )
        # All whitenings in one product, from a place near: far from 0 it would lose digits.
        near, whitenings = self.centres[0], self.whitenings.reshape(-1, size)
        shifts = jnp.einsum("kij,kj->ki", self.whitenings, self.centres - near)
        white = (whitenings @ (points - near).T).reshape(components, size, -1) - shifts[..., None]
        squared = (white**2).sum(axis=1)
        diagonals = jnp.diagonal(self.whitenings, axis1=-2, axis2=-1)
        heights = jnp.log(self.weights) + constant + jnp.log(diagonals).sum(axis=-1)
        tails = (DEGREES + size) / 2 * jnp.log(1 + squared / DEGREES)
        return jax.nn.logsumexp(heights[:, None] - tails, axis=0)


def around_points(
    points: Float[Array, "point parameter"], weights: Float[Array, " point"]
) -> StudentMixture:
    """One Student distribution, as wide as weighted points are; the weights add up to 1."""
    mean, narrowest = weights @ points, NARROWEST * jnp.eye(points.shape[-1])
    distances = jnp.sqrt(weights)[:, None] * (points - mean)
    root = triangle(jnp.concatenate([distances, narrowest])).T
    whitening = jax.scipy.linalg.solve_triangular(root, jnp.eye(len(root)), lower=True)
    parts = mean, root, whitening
    return StudentMixture(jnp.ones(1), *(part[None] for part in parts))


def triangle(matrix: Float[Array, "row parameter"]) -> Float[Array, "parameter parameter"]:
    """The upper triangular R, with a positive diagonal, of which R'R = M'M.

    By QR decomposition: M'M would have the squares of widths, which are too much for float32.
    """
    found = jnp.linalg.qr(matrix, mode="r")
    return jnp.where(jnp.diagonal(found) < 0, -1.0, 1.0)[:, None] * found


def pick(weights: Float[Array, " point"], num: int, *, key: PRNGKeyArray) -> Int[Array, " pick"]:
    """So many indices, each as often as its weight says and more evenly than by chance.

    The first are the same whatever the number: shares of the golden ratio, from a random start.
    """
    if len(weights) == 1:  # sooner compiled than a choice
        return jnp.zeros(num, int)
    steps = jnp.arange(num, dtype=jnp.uint32) * jnp.uint32(2654435769)  # 2^32 / golden ratio
    places = steps + jax.random.bits(key, dtype=jnp.uint32)
    shares = (places >> 8).astype(weights.dtype) / 2**24
    below = jnp.cumsum(weights)
    found = jnp.searchsorted(below, shares * below[-1], side="right")
    return jnp.minimum(found, len(weights) - 1)


def effective_size(log_weights: Float[Array, " point"]) -> Float[Array, ""]:
    r"""How many equally weighted points these are worth: $(\sum w)^2 / \sum w^2$."""
    weights = jax.nn.softmax(log_weights)
    return 1 / (weights**2).sum()


def tempered(
    log_weights: Float[Array, " point"], log_likelihoods: Float[Array, " point"], at_least: int
) -> Float[Array, " point"]:
    """The weights of a posterior whose likelihood counts less, if too few points would matter.

    The largest power from 0 to 1 of the likelihood that leaves an effective size of `at_least`; the
    weights add up to 1.
    """

    def logits(log_power):
        return log_weights + jnp.exp(log_power) * log_likelihoods

    def halve(_, bracket):
        low, high = bracket
        middle = (low + high) / 2
        enough = effective_size(logits(middle)) >= at_least
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    low, _ = jax.lax.fori_loop(0, HALVINGS, halve, (jnp.float32(-30.0), jnp.float32(0.0)))
    enough = effective_size(logits(0.0)) >= at_least
    return jax.nn.softmax(logits(jnp.where(enough, 0.0, low)))
