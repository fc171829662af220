import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lupi._machinery.compilation import compiled
from lupi.models import solve
from lupi.models.initialisation import initialise
from lupi.models.parts.latent_ode import LatentODE
from lupi.models.parts.layers import MLP, softplus
from lupi.models.solving import solve_network

START = np.array([1.0, -0.5], np.float32)


def pendulum(t, state):
    """A driven pendulum, whose field depends on time."""
    angle, speed = state
    return jnp.stack([speed, -4.0 * jnp.sin(angle) + 0.5 * jnp.cos(3.0 * t)])


def exact(times):
    def field(t, state):
        return [state[1], -4.0 * np.sin(state[0]) + 0.5 * np.cos(3.0 * t)]

    end = max(times.max(), 1e-3)
    return solve_ivp(field, (0, end), START, t_eval=times, rtol=1e-10, atol=1e-10).y.T


@partial(jax.jit, static_argnames=("steps_per_unit", "horizon"))
def solve_pendulum(times, *, steps_per_unit, horizon=1):
    start = jnp.array(START, times.dtype)
    return solve(pendulum, start, times, steps_per_unit=steps_per_unit, horizon=horizon)


@pytest.mark.parametrize(("last", "horizon"), [(1.0, 1), (0.6, 1), (3.7, 4)])
def test_a_pendulum_moves_as_scipy_says(last, horizon):
    times = np.linspace(0.0, last, 29)
    found = solve_pendulum(times, steps_per_unit=64, horizon=horizon)
    np.testing.assert_allclose(found, exact(times), atol=5e-6)


def test_one_time_gives_what_it_gives_among_many():
    times = jnp.array([0.9, 0.35, 0.1])
    many = solve_pendulum(times, steps_per_unit=32)
    one = solve_pendulum(times[1:2], steps_per_unit=32)
    np.testing.assert_allclose(one[0], many[1], rtol=1e-6)


def test_times_beyond_the_horizon_are_solved_with_longer_steps():
    times = np.linspace(0.0, 2.0, 11)
    found = solve_pendulum(times, steps_per_unit=128)
    longer = solve_pendulum(times, steps_per_unit=64, horizon=2)
    np.testing.assert_allclose(found, longer, atol=1e-5)


def test_half_the_step_leaves_a_sixteenth_of_the_error():
    with jax.enable_x64(True):
        times = np.array([1.0])
        errors = [
            np.abs(solve_pendulum(times, steps_per_unit=n) - exact(times)).max() for n in (8, 16)
        ]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.2)


def network(activation=softplus, hidden=(8, 8)):
    shapes = MLP((3 + 2 + 1, *hidden, 3), activation=activation)
    return initialise(shapes, gain=math.sqrt(3.0), key=jax.random.key(1))


@pytest.mark.parametrize(
    ("times", "horizon"),
    [([0.7], 1), ([0.9, 0.1, 0.55, 0.0, 0.1], 1), ([3.7, 0.1, 2.55], 4)],
    ids=["one time", "many times", "beyond 1"],
)
def test_the_fast_way_through_a_network_gives_the_states_and_gradients_of_the_general_one(
    times, horizon
):
    start, constant = jnp.array([0.5, -1.0, 0.2]), jnp.array([0.3, -0.4])
    sizes = {"steps_per_unit": 12, "horizon": horizon}

    def quickly(network, start, constant, times):
        return solve_network(network, start, constant, times, **sizes)

    def generally(network, start, constant, times):
        def field(t, state):
            return network(state, constant, t[None])

        return solve(field, start, times, **sizes)

    def states_and_gradients(way):
        def loss(*arguments):
            states = way(*arguments)
            return jnp.sum(states**2), states

        gradient = compiled(jax.grad(loss, argnums=(0, 1, 2, 3), has_aux=True), brief=True)
        gradients, states = gradient(network(), start, constant, jnp.array(times))
        return states, jax.tree.leaves(gradients)

    (quick, quick_gradients), (general, gradients) = map(states_and_gradients, (quickly, generally))
    np.testing.assert_allclose(quick, general, rtol=1e-5, atol=1e-5)
    for one, other in zip(quick_gradients, gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "other", [network(activation=jax.nn.relu), network(hidden=(8,))], ids=["relu", "one layer"]
)
def test_a_network_that_the_fast_way_is_not_for_is_refused(other):
    with pytest.raises(ValueError, match="two hidden layers with softplus: use `solve`"):
        solve_network(other, jnp.zeros(3), jnp.zeros(2), jnp.ones(1), steps_per_unit=4)


def test_a_latent_ode_of_another_network_is_solved_the_general_way():
    ode = LatentODE(
        3, global_latent_size=2, hidden_size=8, steps_per_unit=32, training_steps_per_unit=16
    )
    other = eqx.tree_at(lambda o: o.mlp, ode, network(activation=jnp.tanh))
    start, z, times = jnp.array([0.5, -1.0, 0.2]), jnp.array([0.3, -0.4]), np.linspace(0, 1, 5)

    def field(t, state):
        return np.asarray(other.vector_field(jnp.float32(t), jnp.array(state, jnp.float32), z))

    expected = solve_ivp(field, (0, 1), start, t_eval=times, rtol=1e-7, atol=1e-7).y.T
    np.testing.assert_allclose(other(start, z, jnp.array(times)), expected, atol=2e-5)
