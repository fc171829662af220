"""First weights: what they depend on, and what not."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.models import NeuralODEProcessSettings, build_process
from lupi.models.initialisation import initialise
from lupi.models.keys import key_for
from lupi.models.parts.layers import MLP


def build(key=0, **settings):
    return build_process(
        NeuralODEProcessSettings(**settings),
        observation_size=2,
        privileged_size=1,
        key=jax.random.key(key),
    )


def assert_same(first, second):
    first, second = (jax.tree.leaves(eqx.filter(part, eqx.is_array)) for part in (first, second))
    assert first
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_size_of_one_part_leaves_the_weights_of_the_others_as_they_are(lupi):
    """The state is in the initial state, the ODE and the decoder alone."""
    other = build(latent_state_size=20)
    for part in ("observation_encoder", "global_latent", "privileged"):
        assert_same(getattr(lupi, part), getattr(other, part))
    assert_same(lupi.initial_state.mlp.layers[:2], other.initial_state.mlp.layers[:2])
    assert_same(lupi.decoder.mlp.layers[1:], other.decoder.mlp.layers[1:])


def test_a_part_has_the_same_weights_whatever_stands_beside_it(lupi):
    class Two(eqx.Module):
        other: MLP
        decoder: eqx.Module

    shapes = NeuralODEProcessSettings().build(2, 0)
    two = initialise(
        Two(MLP((3, 700, 2)), shapes.decoder), gain=math.sqrt(3.0), key=jax.random.key(0)
    )
    assert_same(two.decoder, lupi.decoder)


def test_every_layer_has_numbers_of_its_own(lupi):
    weights = [
        leaf for leaf in jax.tree.leaves(eqx.filter(lupi, eqx.is_array)) if leaf.shape == (16, 16)
    ]
    assert len(weights) > 5
    for i, one in enumerate(weights):
        assert not any(np.array_equal(one, other) for other in weights[:i])


def test_another_key_gives_other_weights():
    first, second = (jax.tree.leaves(eqx.filter(build(key), eqx.is_array)) for key in (0, 1))
    assert not any(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_weights_lie_within_the_gain_times_pytorchs_limit_and_fill_it(lupi):
    for layer in (lupi.decoder.mlp.layers[1], lupi.global_latent.shared.layers[0]):
        in_size = layer.weight.shape[1]
        limit = 1 / np.sqrt(in_size)
        assert np.abs(layer.weight).max() == pytest.approx(np.sqrt(3.0) * limit, rel=0.05)
        assert np.abs(layer.weight).max() <= np.sqrt(3.0) * limit
        assert np.abs(layer.bias).max() <= limit


def test_the_gain_multiplies_the_weights_and_not_the_biases():
    one, two = build(initial_gain=1.0), build(initial_gain=2.0)
    first, second = one.decoder.mlp.layers[0], two.decoder.mlp.layers[0]
    np.testing.assert_allclose(2 * first.weight, second.weight, rtol=1e-6)
    np.testing.assert_array_equal(first.bias, second.bias)


def test_processes_built_inside_vmap_are_those_built_one_by_one():
    keys = jax.random.split(jax.random.key(3), 2)
    settings = NeuralODEProcessSettings(hidden_size=4)

    def build_one(key):
        return build_process(settings, observation_size=2, privileged_size=1, key=key)

    together = eqx.filter_vmap(build_one)(keys)
    for i, key in enumerate(keys):
        member = jax.tree.map(lambda leaf, i=i: leaf[i] if eqx.is_array(leaf) else leaf, together)
        assert_same(member, build_one(key))


def test_a_process_built_inside_jit_is_the_one_built_outside():
    settings = NeuralODEProcessSettings(hidden_size=4)

    def weight(key):
        process = build_process(settings, observation_size=2, key=key)
        return process.latent_ode.mlp.layers[1].weight

    np.testing.assert_allclose(
        jax.jit(weight)(jax.random.key(3)), weight(jax.random.key(3)), rtol=1e-6
    )


def test_the_key_of_a_name_is_always_the_same_and_another_for_another_name():
    key = jax.random.key(0)

    def data(name):
        return jax.random.key_data(key_for(key, name))

    np.testing.assert_array_equal(data("decoder"), data("decoder"))
    assert not jnp.array_equal(data("decoder"), data("encoder"))
