"""Part 7: the latent states over time."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import mlp


class LatentODE(eqx.Module):
    """$dL/dt = f_{ODE}(L(t), z, t)$, solved from $L(0)$ at t = 0 to wherever it is asked for.

    `steps_per_unit` steps of the classical fourth-order Runge-Kutta method for each unit of time,
    and between them the cubic that meets the states and the derivatives at both ends, so times
    come in any order and number. (The published code starts at the first target time instead,
    another one at every step of training.)
    """

    mlp: eqx.nn.MLP
    steps_per_unit: int = eqx.field(static=True)

    def __init__(
        self,
        latent_state_size: int,
        *,
        global_latent_size: int,
        hidden_size: int,
        steps_per_unit: int,
        key: PRNGKeyArray,
    ):
        self.mlp = mlp(
            latent_state_size + global_latent_size + 1,
            latent_state_size,
            hidden_size,
            activation=jax.nn.softplus,
            key=key,
        )
        self.steps_per_unit = steps_per_unit

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
        *,
        horizon: int = 1,
    ) -> Float[Array, "time latent_state"]:
        """The states at `ts`, which should not lie beyond the `horizon`.

        The number of steps is fixed by `horizon` when the call is compiled; times beyond it
        lengthen the steps.
        """
        num_steps = self.steps_per_unit * horizon
        dt = jnp.maximum(ts.max(), horizon) / num_steps

        # `vector_field`, with what z and the bias add to the first layer computed once.
        first, *others = self.mlp.layers
        sizes = [initial_state.size, initial_state.size + global_latent.size]
        of_state, of_latent, of_time = jnp.split(first.weight, sizes, axis=1)
        constant = of_latent @ global_latent + first.bias

        def derivative(t, state):
            hidden = of_state @ state + of_time[:, 0] * t + constant
            for layer in others:
                hidden = layer(self.mlp.activation(hidden))
            return hidden

        def step(state, t):
            k1 = derivative(t, state)
            k2 = derivative(t + dt / 2, state + dt / 2 * k1)
            k3 = derivative(t + dt / 2, state + dt / 2 * k2)
            k4 = derivative(t + dt, state + dt * k3)
            return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), (state, k1)

        # An own loop, not diffrax: docs/performance.md has what is gained.
        starts = dt * jnp.arange(num_steps)
        last, (states, slopes) = jax.lax.scan(step, initial_state, starts)
        states = jnp.concatenate([states, last[None]])
        slopes = jnp.concatenate([slopes, derivative(dt * num_steps, last)[None]])
        return _hermite(ts / dt, states, dt * slopes)


def _hermite(
    position: Float[Array, " time"],
    values: Float[Array, "node state"],
    slopes: Float[Array, "node state"],
) -> Float[Array, "time state"]:
    """The piecewise cubic with these values and slopes at the positions 0, 1, 2, ..."""
    left = jnp.clip(position.astype(int), 0, values.shape[0] - 2)
    u = (position - left)[:, None]
    return (
        (1 + 2 * u) * (1 - u) ** 2 * values[left]
        + u * (1 - u) ** 2 * slopes[left]
        + u**2 * (3 - 2 * u) * values[left + 1]
        - u**2 * (1 - u) * slopes[left + 1]
    )
