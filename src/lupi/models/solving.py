"""Differential equations, solved in equal steps; compiled, quick, and differentiable either way.

An own loop, not diffrax: docs/performance.md has what is gained.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi.distributions import AnyArray
from lupi.models.parts.layers import MLP, Linear, softplus

VectorField = Callable[[Float[Array, ""], Float[Array, " state"]], Float[Array, " state"]]


def solve(
    field: VectorField,
    initial_state: Float[Array, " state"],
    ts: Float[AnyArray, " time"],
    *,
    steps_per_unit: int,
    horizon: int = 1,
) -> Float[Array, "time state"]:
    """The states at `ts` of $dx/dt = f(t, x)$ from the initial one at t = 0.

    `steps_per_unit` steps of the classical fourth-order Runge-Kutta method for each unit of time,
    and between them the cubic that meets the states and the derivatives at both ends, so times
    come in any order and number. The number of steps is fixed by `horizon` when the call is
    compiled; times beyond it lengthen the steps.
    """
    num_steps, dt = _grid(ts, steps_per_unit, horizon)

    def step(carry, _):
        t, x = carry
        k1 = field(t, x)
        k2 = field(t + dt / 2, x + dt / 2 * k1)
        k3 = field(t + dt / 2, x + dt / 2 * k2)
        k4 = field(t + dt, x + dt * k3)
        return (t + dt, x + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6), (x, k1)

    (t, end), (states, slopes) = jax.lax.scan(
        step, (jnp.zeros_like(dt), initial_state), length=num_steps
    )
    states = jnp.concatenate([states, end[None]])
    slopes = jnp.concatenate([slopes, field(t, end)[None]])
    return hermite(ts / dt, states, dt * slopes)


def solve_network(
    network: MLP,
    initial_state: Float[Array, " state"],
    constant: Float[AnyArray, " constant"],
    ts: Float[AnyArray, " time"],
    *,
    steps_per_unit: int,
    horizon: int = 1,
) -> Float[Array, "time state"]:
    """What `solve` gives for the field `network(x, constant, t)`, sooner.

    For networks that it `solves`. It runs in the space of the first layer's
    input, a = W_x x + W_c c + w_t t + b. This map is linear in x and t, so a Runge-Kutta step of a
    is the image of that of x; but f is now two products, not three, and all states follow from the
    summed hidden layers at once.
    """
    if not solves(network):
        raise ValueError("expected a network of two hidden layers with softplus: use `solve`.")
    num_steps, dt = _grid(ts, steps_per_unit, horizon)
    first, second, last = network.layers
    sizes = [initial_state.size, initial_state.size + constant.size]
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

    start = first(initial_state, constant, jnp.zeros_like(initial_state[:1]))
    (end, total), nodes = jax.lax.scan(step, (start, jnp.zeros_like(start)), length=num_steps)
    at_nodes, totals = jax.tree.map(
        lambda some, one: jnp.concatenate([some, one[None]]), nodes, (hidden(end), total)
    )
    steps = jnp.arange(num_steps + 1)[:, None]
    states = initial_state + dt * (totals @ last.weight.T + steps * last.bias)
    slopes = dt * last(at_nodes)
    return hermite(ts / dt, states, slopes)


def solves(network: MLP) -> bool:
    """Whether `solve_network` can: two hidden layers with softplus."""
    return len(network.layers) == 3 and network.activation is softplus


def _grid(ts, steps_per_unit: int, horizon: int):
    """The number of steps, and their length."""
    num_steps = steps_per_unit * horizon
    return num_steps, jnp.max(ts, initial=horizon) / num_steps


@jax.jit  # traced once for all the stages of a step
def _hidden(layer: Linear, a: Float[Array, " hidden"]) -> Float[Array, " hidden"]:
    """The second hidden layer, from the input of the first."""
    return softplus(layer(softplus(a)))


def hermite(
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
