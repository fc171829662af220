import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pydantic import ValidationError

from lupi.data import Observations
from lupi.errors import UserError
from lupi.models import NeuralODEProcess, ProcessSettings


def assert_same(first, second):
    np.testing.assert_allclose(first.loc, second.loc, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(first.scale, second.scale, rtol=2e-5, atol=1e-6)


def test_the_order_of_observations_does_not_matter(lupi, observations):
    order = jax.random.permutation(jax.random.key(5), 10)
    shuffled = jax.tree.map(lambda leaf: leaf[order], observations)
    assert_same(lupi.infer(observations), lupi.infer(shuffled))


def test_masked_points_change_nothing(lupi, observations):
    padded = Observations(
        ts=jnp.concatenate([observations.ts, jnp.array([0.3, 7.0])]),
        ys=jnp.concatenate([observations.ys, jnp.full((2, 2), 123.0)]),
        mask=jnp.concatenate([observations.mask, jnp.zeros(2, dtype=bool)]),
    )
    assert_same(lupi.infer(observations), lupi.infer(padded))


def test_another_observation_does_change_the_latent(lupi, observations):
    fewer = observations.only(jnp.arange(10) < 5)
    assert float(jnp.abs(lupi.infer(fewer).loc - lupi.infer(observations).loc).max()) > 1e-4


def test_privileged_information_corrects_the_training_posterior_only(lupi, observations):
    low = lupi.infer_in_training(observations, jnp.array([0.2]))
    high = lupi.infer_in_training(observations, jnp.array([1.0]))
    assert float(jnp.abs(low.loc - high.loc).max()) > 1e-4
    assert_same(lupi.infer(observations), lupi.without_privileged().infer(observations))


def test_without_privileged_parts_training_infers_as_testing_does(nopi, observations):
    assert not nopi.uses_privileged
    assert_same(nopi.infer_in_training(observations, jnp.array([0.7])), nopi.infer(observations))


def test_the_correction_is_residual(lupi, observations):
    silent = eqx.tree_at(
        lambda p: p.residual_aggregator.mlp.layers[-1],
        lupi,
        replace_fn=lambda layer: jax.tree.map(jnp.zeros_like, layer),
    )
    assert_same(silent.infer_in_training(observations, jnp.array([0.7])), lupi.infer(observations))


def test_lupi_and_nopi_start_from_the_same_shared_weights(lupi, nopi):
    assert lupi.uses_privileged
    shared = jax.tree.leaves(eqx.filter(lupi.without_privileged(), eqx.is_array))
    alone = jax.tree.leaves(eqx.filter(nopi, eqx.is_array))
    for first, second in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(first, second)


def test_initial_weights_keep_the_size_of_a_signal(lupi):
    hidden = lupi.latent_ode.mlp.layers[1].weight
    assert float(hidden.var()) == pytest.approx(1 / 16, rel=0.25)


def test_one_privileged_part_without_the_other_is_refused(lupi):
    parts = {f: getattr(lupi, f) for f in lupi.__dataclass_fields__} | {"residual_aggregator": None}
    with pytest.raises(UserError, match="come together"):
        NeuralODEProcess(**parts)


def test_settings_refuse_sizes_that_make_no_sense():
    with pytest.raises(ValidationError, match="observation_size"):
        ProcessSettings(observation_size=0)
    with pytest.raises(ValidationError, match="widht"):
        ProcessSettings(observation_size=1, widht=3)


def test_decoded_noise_is_independent_between_times_and_quantities(lupi):
    decoded = lupi.decode(jnp.zeros(16), jnp.linspace(0, 1, 6))
    draws = np.array(decoded.sample(jax.random.key(0), (3000,)) - decoded.loc).reshape(3000, -1)
    correlations = np.corrcoef(draws.T)
    assert np.abs(correlations - np.eye(12)).max() < 0.1
