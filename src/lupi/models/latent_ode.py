"""Part 7: the latent states over time."""

import copy
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import MLP, Linear, softplus


class LatentODE(eqx.Module):
    """$dL/dt = f_{ODE}(L(t), z, t)$, solved from $L(0)$ at t = 0 to wherever it is asked for.

    `steps_per_unit` steps of the classical fourth-order Runge-Kutta method for each unit of time,
    and between them the cubic that meets the states and the derivatives at both ends, so times
    come in any order and number. (The published code starts at the first target time instead,
    another one at every step of training.)
    """

    mlp: MLP
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
        inputs = latent_state_size + global_latent_size + 1
        self.mlp = MLP(
            (inputs, hidden_size, hidden_size, latent_state_size), activation=softplus, key=key
        )
        self.steps_per_unit = steps_per_unit

    def with_steps(self, steps_per_unit: int) -> "LatentODE":
        """The same equation, solved in this many steps for each unit of time."""
        other = copy.copy(self)  # the constructor would draw new weights
        object.__setattr__(other, "steps_per_unit", steps_per_unit)
        return other

    def vector_field(
        self,
        t: Float[Array, ""],
        latent_state: Float[Array, " latent_state"],
        global_latent: Float[Array, " global_latent"],
    ) -> Float[Array, " latent_state"]:
        """The derivative of the latent state."""
        return self.mlp(latent_state, global_latent, t[None])

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

        # An own loop, not diffrax: docs/performance.md has what is gained. It runs in the space of
        # the first layer's input, a = W_L L + W_z z + w_t t + b. This map is linear in L and t, so
        # a Runge-Kutta step of a is the image of that of L; but f is now two products, not three,
        # and all states follow from the summed hidden layers at once.
        first, second, last = self.mlp.layers
        sizes = [initial_state.size, initial_state.size + global_latent.size]
        of_state, _, of_time = jnp.split(first.weight, sizes, axis=1)
        to_slope = (of_state @ last.weight).T
        drift = of_state @ last.bias + of_time[:, 0]

        hidden = partial(_hidden, second)

        def step(carry, _):
            a, total = carry
            h1 = hidden(a)
            h2 = hidden(a + dt / 2 * (h1 @ to_slope + drift))
            h3 = hidden(a + dt / 2 * (h2 @ to_slope + drift))
            h4 = hidden(a + dt * (h3 @ to_slope + drift))
            mean = (h1 + 2 * h2 + 2 * h3 + h4) / 6
            return (a + dt * (mean @ to_slope + drift), total + mean), (h1, total)

        start = first(initial_state, global_latent, jnp.zeros_like(ts[:1]))
        (end, total), nodes = jax.lax.scan(step, (start, jnp.zeros_like(start)), length=num_steps)
        at_nodes, totals = jax.tree.map(
            lambda some, one: jnp.concatenate([some, one[None]]), nodes, (hidden(end), total)
        )
        steps = jnp.arange(num_steps + 1)[:, None]
        states = initial_state + dt * (totals @ last.weight.T + steps * last.bias)
        slopes = dt * last(at_nodes)
        return _hermite(ts / dt, states, slopes)


@jax.jit  # traced once for all the stages of a step
def _hidden(layer: Linear, a: Float[Array, " hidden"]) -> Float[Array, " hidden"]:
    """The second hidden layer, from the input of the first."""
    return softplus(layer(softplus(a)))


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
