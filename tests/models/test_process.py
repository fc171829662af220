import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pydantic import ValidationError

from lupi.data import Observations
from lupi.errors import UserError
from lupi.models import (
    ConditionalProcessSettings,
    NeuralODEProcessSettings,
    Sample,
    build_process,
)


def assert_same(first, second):
    np.testing.assert_allclose(first.loc, second.loc, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(first.scale, second.scale, rtol=2e-5, atol=1e-6)


def test_the_order_of_observations_does_not_matter(lupi, observations):
    order = jax.random.permutation(jax.random.key(5), 10)
    shuffled = jax.tree.map(lambda leaf: leaf[order], observations)
    assert_same(lupi.encode(observations).latent, lupi.encode(shuffled).latent)


def test_masked_points_change_nothing(lupi, observations):
    padded = Observations(
        ts=jnp.concatenate([observations.ts, jnp.array([0.3, 7.0])]),
        ys=jnp.concatenate([observations.ys, jnp.full((2, 2), 123.0)]),
        mask=jnp.concatenate([observations.mask, jnp.zeros(2, dtype=bool)]),
    )
    assert_same(lupi.encode(observations).latent, lupi.encode(padded).latent)


def test_another_observation_does_change_the_latent(lupi, observations):
    fewer = observations.only(jnp.arange(10) < 5)
    before, after = (lupi.encode(some).latent.loc for some in (fewer, observations))
    assert float(jnp.abs(before - after).max()) > 1e-4


def test_privileged_information_corrects_the_training_posterior_only(lupi, observations):
    low = lupi.encode(observations, jnp.array([0.2])).latent
    high = lupi.encode(observations, jnp.array([1.0])).latent
    assert float(jnp.abs(low.loc - high.loc).max()) > 1e-4
    assert_same(
        lupi.encode(observations).latent, lupi.without_privileged().encode(observations).latent
    )


def test_without_privileged_parts_training_infers_as_testing_does(nopi, observations):
    assert not nopi.uses_privileged
    assert_same(
        nopi.encode(observations, jnp.array([0.7])).latent, nopi.encode(observations).latent
    )


def test_the_correction_is_residual(lupi, observations):
    silent = eqx.tree_at(
        lambda p: p.privileged.mlp.layers[-1],
        lupi,
        replace_fn=lambda layer: jax.tree.map(jnp.zeros_like, layer),
    )
    assert_same(
        silent.encode(observations, jnp.array([0.7])).latent, lupi.encode(observations).latent
    )


def test_lupi_and_nopi_start_from_the_same_shared_weights(lupi, nopi):
    assert lupi.uses_privileged
    shared = jax.tree.leaves(eqx.filter(lupi.without_privileged(), eqx.is_array))
    alone = jax.tree.leaves(eqx.filter(nopi, eqx.is_array))
    for first, second in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(first, second)


def test_initial_weights_keep_the_size_of_a_signal(lupi):
    hidden = lupi.latent_ode.mlp.layers[1].weight
    assert float(hidden.var()) == pytest.approx(1 / 16, rel=0.25)


def test_settings_refuse_sizes_that_make_no_sense():
    with pytest.raises(ValidationError, match="hidden_size"):
        NeuralODEProcessSettings(hidden_size=0)
    with pytest.raises(ValidationError, match="widht"):
        NeuralODEProcessSettings(widht=3)


def test_data_of_no_size_are_refused():
    with pytest.raises(UserError, match=r"at least 1 observed quantity .* got 0 and 1"):
        build_process(
            NeuralODEProcessSettings(), observation_size=0, privileged_size=1, key=jax.random.key(0)
        )


def test_a_kind_without_use_for_privileged_values_refuses_them():
    with pytest.raises(UserError, match="makes no use of privileged values, but 1 were announced"):
        build_process(
            ConditionalProcessSettings(),
            observation_size=2,
            privileged_size=1,
            key=jax.random.key(0),
        )


def test_decoded_noise_is_independent_between_times_and_quantities(lupi):
    decoded = lupi.decode(Sample(jnp.zeros(16)), jnp.linspace(0, 1, 6))
    draws = np.array(decoded.sample(jax.random.key(0), (3000,)) - decoded.loc).reshape(3000, -1)
    correlations = np.corrcoef(draws.T)
    assert np.abs(correlations - np.eye(12)).max() < 0.1
