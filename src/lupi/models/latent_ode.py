"""Part 7: the latent states over time."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import mlp

MAX_STEPS = 64
"""Trained models of the paper's tasks take about 10 steps; past this limit states are NaN."""


class LatentODE(eqx.Module):
    """$dL/dt = f_{ODE}(L(t), z, t)$, solved from $L(0)$ at t = 0 to wherever it is asked for.

    The solution is a continuous function of time, so times come in any order and number.
    (The published code starts at the first target time instead, another one at every step.)
    """

    mlp: eqx.nn.MLP
    tolerance: float = eqx.field(static=True)

    def __init__(
        self,
        latent_state_size: int,
        *,
        global_latent_size: int,
        hidden_size: int,
        tolerance: float,
        key: PRNGKeyArray,
    ):
        self.mlp = mlp(
            latent_state_size + global_latent_size + 1,
            latent_state_size,
            hidden_size,
            activation=jax.nn.softplus,
            key=key,
        )
        self.tolerance = tolerance

    def vector_field(
        self,
        t: Float[Array, ""],
        latent_state: Float[Array, " latent_state"],
        global_latent: Float[Array, " global_latent"],
    ) -> Float[Array, " latent_state"]:
        """The derivative of the latent state."""
        return self.mlp(jnp.concatenate([latent_state, global_latent, t[None]]))

    def __call__(
        self,
        initial_state: Float[Array, " latent_state"],
        global_latent: Float[Array, " global_latent"],
        ts: Float[Array, " time"],
    ) -> Float[Array, "time latent_state"]:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(self.vector_field),
            diffrax.Tsit5(),
            t0=jnp.zeros(()),
            # At least to the end of the usual span [0, 1], so that t = 0 alone can be asked for.
            t1=jnp.maximum(ts.max(), 1.0),
            dt0=None,
            y0=initial_state,
            args=global_latent,
            saveat=diffrax.SaveAt(dense=True),
            stepsize_controller=diffrax.PIDController(rtol=self.tolerance, atol=self.tolerance),
            max_steps=MAX_STEPS,
            throw=False,
        )
        states = jax.vmap(solution.evaluate)(ts)
        return jnp.where(solution.result == diffrax.RESULTS.successful, states, jnp.nan)
