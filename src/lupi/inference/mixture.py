"""A mixture of Gaussians: where the latents of a family lie."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lupi.distributions import AnyArray

NUMBERS = (1, 2, 4, 8, 16)
"""Of Gaussians, among which the data choose."""

FOLDS, ROUNDS = 4, 40
"""Of the choice, and of the improvement of one mixture."""

NOTHING = -1e4
"""The logarithm of the weight of a Gaussian that is not needed: a finite number, as files hold."""

PRIOR_POINTS = 3.0
"""How many points the scatter within all clusters together counts for in each of them."""


class GaussianMixture(eqx.Module):
    """Gaussians with weights, each with a covariance of its own."""

    log_weights: Float[AnyArray, " component"]
    means: Float[AnyArray, "component dimension"]
    factors: Float[AnyArray, "component dimension dimension"]
    """Triangular; times its transpose it is the covariance."""
    inverses: Float[AnyArray, "component dimension dimension"]
    """Of the factors."""

    def log_densities(self, x: Float[AnyArray, " dimension"]) -> Float[Array, " component"]:
        """Of each Gaussian at x, its weight included."""
        # Sums instead of a product: one for each Gaussian would be as many calls of a library.
        distances = jnp.sum(self.inverses * (x - self.means)[:, None], axis=-1)
        log_volumes = jnp.sum(jnp.log(jnp.diagonal(self.factors, axis1=1, axis2=2)), axis=1)
        constant = 0.5 * x.size * math.log(2 * math.pi)
        return self.log_weights - 0.5 * jnp.sum(distances**2, axis=1) - log_volumes - constant

    def log_density(self, x: Float[AnyArray, " dimension"]) -> Float[Array, ""]:
        """The logarithm of the density at x."""
        return jax.nn.logsumexp(self.log_densities(x))

    def sample(self, number: int, *, key: PRNGKeyArray) -> Float[Array, "sample dimension"]:
        """So many draws, each Gaussian its share of them as exactly as it can be."""
        pick_key, noise_key = jax.random.split(key)
        chosen = systematic(self.log_weights, number, pick_key)
        noise = jax.random.normal(noise_key, (number, self.means.shape[1]))
        means, factors = jnp.asarray(self.means), jnp.asarray(self.factors)
        return means[chosen] + jnp.sum(factors[chosen] * noise[:, None], axis=-1)


def systematic(
    log_weights: Float[AnyArray, " choice"], number: int, key: PRNGKeyArray
) -> Int[Array, " pick"]:
    """So many choices, each as often as its weight says, up to one; in order."""
    ends = jnp.cumsum(jax.nn.softmax(log_weights))
    positions = (jnp.arange(number) + jax.random.uniform(key)) / number
    return jnp.minimum(jnp.searchsorted(ends, positions * ends[-1]), ends.size - 1)


def fit_mixture(
    points: Float[np.ndarray, "point dimension"],
    blur: Float[np.ndarray, "dimension dimension"],
    *,
    seed: int = 0,
) -> GaussianMixture:
    """The mixture that describes points best, each known up to a Gaussian of covariance `blur`.

    The number of Gaussians is the one under which points left out are most likely.
    """
    rng = np.random.default_rng(seed)
    fold = rng.permutation(len(points)) % FOLDS
    best, best_score = 1, -np.inf
    for number in NUMBERS:
        if number > 1 and len(points) < 5 * number:
            break
        scores = []
        for i in range(FOLDS if len(points) >= 2 * FOLDS else 0):
            mixture = _fit(points[fold != i], blur, number, np.random.default_rng(seed))
            scores.append(_log_densities(points[fold == i], *mixture).mean())
        score = float(np.mean(scores)) if scores else 0.0
        if score > best_score:
            best, best_score = number, score
    weights, means, covariances = _fit(points, blur, best, np.random.default_rng(seed))
    # As many for every family, so that nothing is compiled for another number: those that are not
    # needed stand where others do, and weigh nothing.
    fill = np.arange(max(NUMBERS)) % best
    log_weights = np.where(np.arange(max(NUMBERS)) < best, np.log(weights)[fill], NOTHING)
    return mixture_of(log_weights, means[fill], covariances[fill])


def mixture_of(
    log_weights: Float[np.ndarray, " component"],
    means: Float[np.ndarray, "component dimension"],
    covariances: Float[np.ndarray, "component dimension dimension"],
) -> GaussianMixture:
    """The mixture of these Gaussians."""
    factors = np.linalg.cholesky(covariances)
    parts = log_weights, means, factors, np.linalg.inv(factors)
    log_weights, means, factors, inverses = (np.asarray(part, np.float32) for part in parts)
    return GaussianMixture(log_weights, means, factors, inverses)


def _fit(points, blur, number: int, rng: np.random.Generator):
    """Weights, means and covariances by expectation and maximisation."""
    size = points.shape[1]
    means = points[rng.choice(len(points), 1)]
    for _ in range(number - 1):  # each as far from the others as chance and distance say
        distances = ((points[:, None] - means) ** 2).sum(-1).min(1) + 1e-12
        means = np.vstack([means, points[rng.choice(len(points), p=distances / distances.sum())]])
    nearest = ((points[:, None] - means) ** 2).sum(-1).argmin(1)
    shares = np.eye(number)[nearest]
    parts = None
    for _ in range(ROUNDS):
        counts = shares.sum(0) + 1e-9
        means = shares.T @ points / counts[:, None]
        centred = points[:, None] - means
        scatters = np.einsum("nk,nki,nkj->kij", shares, centred, centred)
        within = scatters.sum(0) / len(points)
        covariances = (scatters + PRIOR_POINTS * within) / (counts + PRIOR_POINTS)[:, None, None]
        covariances = covariances + blur + 1e-6 * np.eye(size)
        parts = counts / counts.sum(), means, covariances
        logs = _component_log_densities(points, *parts)
        shares = np.exp(logs - _logsumexp(logs)[:, None])
    assert parts is not None
    return parts


def _component_log_densities(points, weights, means, covariances):
    factors = np.linalg.cholesky(covariances)
    distances = np.stack(
        [
            np.linalg.solve(factor, (points - mean).T).T
            for mean, factor in zip(means, factors, strict=True)
        ],
        axis=1,
    )
    volumes = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(1)
    constant = 0.5 * points.shape[1] * math.log(2 * math.pi)
    return np.log(weights) - 0.5 * (distances**2).sum(-1) - volumes - constant


def _log_densities(points, *mixture):
    return _logsumexp(_component_log_densities(points, *mixture))


def _logsumexp(logs: np.ndarray) -> np.ndarray:
    largest = logs.max(axis=1)
    return largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1))
