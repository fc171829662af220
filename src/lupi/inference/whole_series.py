"""The z of a system of which all is known: the encoder's guess, corrected by the decoder."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi._machinery.factors import solve_positive
from lupi.data import Observations
from lupi.models import AbstractProcess, Code, Sample

STEPS = 4
"""Of Gauss and Newton, damped: the encoder is near already."""


def explaining_latent(
    process: AbstractProcess,
    seen: Observations,
    code: Code,
    mean: Float[Array, " latent"],
    precision: Float[Array, "latent latent"],
) -> Float[Array, " latent"]:
    """The z under which a series is most likely, where z are Gaussian.

    The encoder's own guess is off by more than a learnt decoder is: what would be learnt from the
    trajectories of such guesses, such as how privileged values follow from them, would not hold for
    the better z that an inference finds.
    """
    times = jnp.where(seen.mask, seen.ts, 0.0)
    known = jnp.broadcast_to(seen.known, seen.ys.shape)

    def compared(z):
        """Values in units of their scale, and what these scales cost."""
        decoded = process.decode(Sample(z, code.deterministic), times)
        scale = jax.lax.stop_gradient(decoded.scale)
        apart = jnp.where(known, (decoded.loc - seen.ys) / scale, 0.0)
        return jnp.ravel(apart), jnp.sum(jnp.log(decoded.scale), where=known)

    def height(z):
        apart, cost = compared(z)
        return 0.5 * apart @ apart + cost + 0.5 * (z - mean) @ precision @ (z - mean)

    def step(_, state):
        z, damping, here = state
        apart, _ = compared(z)
        slopes = jax.jacfwd(lambda z: compared(z)[0])(z)
        curvature = slopes.T @ slopes + precision
        damped = curvature + damping * jnp.diag(jnp.diag(curvature))
        slope = slopes.T @ apart + precision @ (z - mean)
        new = z - solve_positive(damped, slope)
        there = height(new)
        better = there < here
        return (
            jnp.where(better, new, z),
            jnp.where(better, damping * 0.2, damping * 5.0),
            jnp.where(better, there, here),
        )

    guess = code.latent.loc
    return jax.lax.fori_loop(0, STEPS, step, (guess, jnp.array(0.1), height(guess)))[0]
