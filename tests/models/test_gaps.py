"""Values that are missing: of an observation, and of the privileged information."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.data import Observations, Split
from lupi.errors import UserError
from lupi.models import NeuralODEProcessSettings, build_process, load_process, save_process
from lupi.objectives import Elbo

SETTINGS = NeuralODEProcessSettings(marks_gaps=True)


@pytest.fixture(scope="module")
def process():
    return build_process(SETTINGS, observation_size=2, privileged_size=2, key=jax.random.key(0))


@pytest.fixture
def gaps():
    return jnp.zeros((10, 2), bool).at[jnp.array([1, 4]), jnp.array([0, 1])].set(True)


def with_gaps(observations: Observations, gaps, filling: float) -> Observations:
    return Observations(
        observations.ts, jnp.where(gaps, filling, observations.ys), observations.mask, gaps
    )


@eqx.filter_jit
def mean_of_z(process, observations, privileged=None):
    return process.encode(observations, privileged).latent.loc


@eqx.filter_jit
def loss_of(process, split, privileged):
    return Elbo()(process, split, privileged, key=jax.random.key(1))[0]


def test_what_stands_in_a_gap_does_not_matter(process, observations, gaps):
    privileged = jnp.array([0.3, -0.2])
    losses = []
    for filling in (0.0, 1e6):
        seen = with_gaps(observations, gaps, filling)
        split = Split(seen, jnp.arange(10) < 5)
        losses.append(loss_of(process, split, privileged))
    assert losses[0] == losses[1]


def test_a_gap_is_not_a_zero(process, observations, gaps):
    gap = mean_of_z(process, with_gaps(observations, gaps, 0.0))
    zero = mean_of_z(process, with_gaps(observations, jnp.zeros_like(gaps), 0.0))
    zeros_there = mean_of_z(
        process,
        Observations(observations.ts, jnp.where(gaps, 0.0, observations.ys), observations.mask),
    )
    assert not np.allclose(gap, zeros_there)
    np.testing.assert_array_equal(zero, mean_of_z(process, observations))


def test_a_process_that_does_not_mark_gaps_refuses_them(lupi, observations, gaps):
    with pytest.raises(UserError, match="does not mark them"):
        lupi.encode(with_gaps(observations, gaps, 0.0))


def test_without_any_privileged_value_training_sees_what_prediction_sees(process, observations):
    unknown = mean_of_z(process, observations, jnp.full(2, jnp.nan))
    np.testing.assert_array_equal(unknown, mean_of_z(process, observations))


def test_a_privileged_value_counts_where_another_is_unknown(process, observations):
    some = mean_of_z(process, observations, jnp.array([0.5, jnp.nan]))
    assert np.isfinite(some).all()
    assert not np.allclose(some, mean_of_z(process, observations))


def test_unknown_privileged_values_leave_the_gradient_finite(process, observations):
    split = Split(observations, jnp.arange(10) < 5)
    gradient = eqx.filter_jit(eqx.filter_grad(loss_of))
    for privileged in (jnp.full(2, jnp.nan), jnp.array([0.5, jnp.nan])):
        leaves = jax.tree.leaves(gradient(process, split, privileged))
        assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_a_process_that_marks_gaps_is_saved_and_loaded(process, observations, gaps, tmp_path):
    save_process(tmp_path / "process", process, SETTINGS)
    seen = with_gaps(observations, gaps, 0.0)
    loaded = load_process(tmp_path / "process")
    np.testing.assert_array_equal(mean_of_z(loaded, seen), mean_of_z(process, seen))


def test_marking_gaps_changes_no_size_that_a_process_tells(process):
    assert (process.observation_size, process.privileged_size) == (2, 2)
