"""Modes of a posterior with Normal noise, and how wide it is around them."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi.ideal.importance import StudentMixture, triangle

ITERATIONS = 20
"""Of Levenberg and Marquardt's method, from each start."""

ROUNDING = 1e-5
"""Of a sum of squares, relative to it."""

SHARED = 0.1
"""Of the mixture's weight, in equal parts: a mode may be wider than it seems."""

Residuals = Callable[[Float[Array, " parameter"]], Float[Array, " value"]]


def around_modes(
    residuals: Residuals,
    starts: Float[Array, "start parameter"],
    lowest: Float[Array, " parameter"],
    highest: Float[Array, " parameter"],
) -> StudentMixture:
    """A density with the modes that are found from the starts, as wide as the posterior there.

    `residuals` are distances between values and what they should be, in standard deviations of
    the noise; parameters are in standard deviations of their prior. Modes are looked for between
    the lowest and the highest parameters.
    """
    size = starts.shape[-1]

    def of_start(start):
        best = _search(residuals, start, lowest, highest)
        whitening = triangle(jnp.concatenate([best.jacobian, jnp.eye(size)]))
        volume = jnp.log(jnp.diagonal(whitening)).sum()
        return best.parameters, whitening, -0.5 * best.cost - volume

    centres, whitenings, log_evidence = jax.vmap(of_start)(starts)
    roots = jax.vmap(lambda one: jax.scipy.linalg.solve_triangular(one, jnp.eye(size)))(whitenings)
    share = jax.nn.softmax(jnp.where(jnp.isfinite(log_evidence), log_evidence, -jnp.inf))
    weights = (1 - SHARED) * share + SHARED / len(starts)
    return StudentMixture(weights=weights, centres=centres, roots=roots, whitenings=whitenings)


class _Place(NamedTuple):
    """Where a search has come to."""

    parameters: Float[Array, " parameter"]
    jacobian: Float[Array, "value parameter"]
    slope: Float[Array, " parameter"]
    cost: Float[Array, ""]


def _search(residuals: Residuals, start: Float[Array, " parameter"], lowest, highest) -> _Place:
    """The best place that damped Gauss-Newton steps come to."""

    def look(parameters) -> _Place:
        both = jax.jacfwd(lambda p: (residuals(p),) * 2, has_aux=True)
        jacobian, distances = both(parameters)
        # NaN is never better: where a solution ends, nothing is to be found.
        cost = jnp.where(jnp.isfinite(jacobian).all(), (distances**2).sum(), jnp.nan)
        return _Place(parameters, jacobian, jacobian.T @ distances, cost)

    def turn(_, state):
        best, damping, ahead = state
        found = look(ahead)
        # Where costs are the same up to rounding, the smaller slope is nearer to the mode.
        flatter = (found.slope**2).sum() < (best.slope**2).sum()
        share = jnp.where(flatter, 1 + ROUNDING, 1 - ROUNDING)
        better = found.cost <= share * best.cost
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), found, best)
        damping = jnp.where(better, damping / 10, damping * 10)
        return best, damping, best.parameters + _step(best, damping, lowest, highest)

    shapes = jax.eval_shape(look, start)
    unseen: _Place = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    state = unseen._replace(cost=jnp.full_like(unseen.cost, jnp.inf)), jnp.float32(0.1), start
    return jax.lax.fori_loop(0, ITERATIONS, turn, state)[0]


def _step(place: _Place, damping, lowest, highest) -> Float[Array, " parameter"]:
    """A damped step, along the bounds that it would lead out of, up to the first of the others."""
    here, slope = place.parameters, place.slope
    held = ((here <= lowest) & (slope > 0)) | ((here >= highest) & (slope < 0))
    jacobian, slope = (jnp.where(held, 0.0, part) for part in (place.jacobian, slope))
    damped = jnp.diag(jnp.sqrt(1 + damping * (jacobian**2).sum(axis=0)))
    root = triangle(jnp.concatenate([jacobian, damped]))
    half = jax.scipy.linalg.solve_triangular(root, slope, trans=1)
    step = -jax.scipy.linalg.solve_triangular(root, half)
    room = jnp.where(step < 0, lowest - here, highest - here)
    share = jnp.where(step == 0, 1.0, room / jnp.where(step == 0, 1.0, step)).min()
    # Clipped too: rounding may lead out of a bound.
    return jnp.clip(jnp.minimum(share, 1.0) * step, lowest - here, highest - here)
