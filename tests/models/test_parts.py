import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.models import num_parameters
from lupi.models.initialisation import initialise
from lupi.models.parts.attention import CrossAttention
from lupi.models.parts.latent_ode import LatentODE, SecondOrderODE
from lupi.models.parts.layers import softplus
from lupi.models.parts.uncertain_ode import UncertainLinear, UncertainODE


def test_parameter_counts_are_the_papers(lupi, nopi):
    assert num_parameters(lupi) == 6900
    assert num_parameters(lupi.without_privileged()) == 4724
    assert num_parameters(nopi) == 4724
    assert num_parameters(lupi.privileged.encoder) == 576
    assert num_parameters(lupi.privileged.mlp) == 1600


def test_softplus_and_its_slope_are_exact_to_float32():
    x = np.linspace(-30.0, 30.0, 2001)
    np.testing.assert_allclose(softplus(jnp.array(x)), np.logaddexp(0.0, x), rtol=3e-7, atol=3e-7)
    slopes = jax.vmap(jax.grad(softplus))(jnp.array(x))
    np.testing.assert_allclose(slopes, 1 / (1 + np.exp(-x)), atol=3e-7)


def test_scales_stay_above_their_floors(lupi):
    far = 1e3 * jax.random.normal(jax.random.key(0), (50, 32))
    latent = jax.jit(jax.vmap(lupi.global_latent))(far)
    assert float(latent.scale.min()) >= 0.1
    assert float(latent.scale.max()) <= 1.0
    states = 1e3 * jax.random.normal(jax.random.key(1), (50, 16))
    decoded = jax.jit(jax.vmap(lupi.decoder, in_axes=(0, None)))(states, jnp.zeros(16))
    assert float(decoded.scale.min()) >= 0.1


@pytest.fixture(scope="module")
def ode():
    shapes = LatentODE(
        3,
        global_latent_size=2,
        hidden_size=8,
        steps_per_unit=32,
        training_steps_per_unit=8,
    )
    return initialise(shapes, gain=math.sqrt(3.0), key=jax.random.key(0))


START, Z = jnp.array([0.5, -1.0, 0.2]), jnp.array([0.3, -0.4])


def reference_states(ode, times):
    """The same latent ODE through scipy's adaptive solver, at a tight tolerance."""
    from scipy.integrate import solve_ivp

    def field(t, state):
        return np.asarray(ode.vector_field(jnp.float32(t), jnp.array(state, jnp.float32), Z))

    solution = solve_ivp(field, (0, times.max()), START, t_eval=times, rtol=1e-7, atol=1e-7)
    return solution.y.T


def test_latent_states_agree_with_scipy(ode):
    times = np.linspace(0.0, 1.0, 23)
    np.testing.assert_allclose(
        ode(START, Z, jnp.array(times)), reference_states(ode, times), atol=2e-5
    )


def test_latent_states_agree_with_scipy_far_beyond_the_usual_span(ode):
    times = np.linspace(0.0, 3.7, 19)
    np.testing.assert_allclose(
        ode(START, Z, jnp.array(times), horizon=4), reference_states(ode, times), atol=2e-5
    )


def test_the_latent_ode_starts_at_time_zero(ode):
    np.testing.assert_allclose(ode(START, Z, jnp.zeros(1))[0], START, atol=1e-6)
    later = ode(START, Z, jnp.array([0.5, 0.9]))
    assert float(jnp.abs(later - START).min()) > 1e-3


def test_times_may_come_in_any_order(ode):
    times = jnp.array([0.9, 0.1, 0.5, 0.1])
    states = ode(START, Z, times)
    np.testing.assert_allclose(
        states[jnp.argsort(times)], ode(START, Z, jnp.sort(times)), rtol=1e-6
    )


def test_in_training_the_latent_ode_is_solved_in_the_steps_of_training(ode):
    assert (ode.steps_per_unit, ode.in_training().steps_per_unit) == (32, 8)
    times = jnp.linspace(0.0, 1.0, 5)
    coarse = ode.in_training()(START, Z, times)
    np.testing.assert_allclose(coarse, ode(START, Z, times), atol=1e-3)
    assert not np.array_equal(coarse, ode(START, Z, times))


STEPS = {"hidden_size": 8, "steps_per_unit": 32, "training_steps_per_unit": 8}


@pytest.mark.parametrize(
    "shapes",
    [
        SecondOrderODE(2, global_latent_size=6, **STEPS),
        UncertainODE(2, noise_size=2, **STEPS),
    ],
    ids=["second order", "uncertain"],
)
def test_the_position_of_a_second_order_ode_moves_with_its_velocity(shapes):
    ode = initialise(shapes, gain=math.sqrt(3.0), key=jax.random.key(0))
    start, z = jnp.array([0.5, -1.0, 0.2, 0.1]), jnp.linspace(-0.5, 0.5, 6)
    times = np.linspace(0.0, 1.0, 201)
    states = np.asarray(jax.jit(lambda z: ode(start, z, jnp.array(times)))(z), float)
    slopes = np.gradient(states, times, axis=0)[1:-1]
    np.testing.assert_allclose(slopes[:, :2], states[1:-1, 2:], atol=2e-3)
    field = jax.jit(jax.vmap(lambda t, x: ode.vector_field(t, x, z)))
    learnt = field(times[1:-1], states[1:-1])
    np.testing.assert_allclose(slopes[:, 2:], learnt[:, 2:], atol=2e-3)
    assert ode.in_training().steps_per_unit == 8


def test_an_uncertain_layer_is_a_layer_with_the_weights_of_its_noise():
    layer = initialise(UncertainLinear(3, 4, noise_size=2), gain=1.0, key=jax.random.key(0))
    noise, x = jnp.array([0.7, -1.2]), jnp.array([0.3, 0.1, -0.5])
    change = layer.out_of.weight @ jnp.diag(noise)
    weight = layer.mean.weight + change @ layer.into.weight
    bias = layer.mean.bias + change @ layer.into.bias + layer.out_of.bias
    np.testing.assert_allclose(layer(noise, x), weight @ x + bias, rtol=1e-5, atol=1e-6)


def test_attention_sees_means_of_real_values_and_nothing_of_no_point():
    shapes = CrossAttention(2, hidden_size=8)
    attention = initialise(shapes, gain=math.sqrt(3.0), key=jax.random.key(0))
    times, ts = jnp.linspace(0, 1, 5), jnp.array([0.2, 0.9, 0.4])
    values = jnp.array([[1.0, -1.0], [99.0, 99.0], [3.0, 0.0]])
    seen = attention(times, ts, values, np.array([True, False, True]))
    assert seen.shape == (5, 4)
    assert ((seen[:, ::2] > 1) & (seen[:, ::2] < 3)).all()
    assert np.ptp(seen[:, 0]) > 1e-3
    one = attention(times, ts, values, np.array([False, False, True]))
    np.testing.assert_allclose(one, np.tile([3.0, 0.0], (5, 2)), rtol=1e-6)
    np.testing.assert_array_equal(attention(times, ts, values, np.zeros(3, bool)), 0.0)
