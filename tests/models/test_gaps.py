"""Values that are missing: of an observation, and of the privileged information."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.data import Observations, Split
from lupi.errors import UserError
from lupi.models import ProcessSettings, build_process, load_process, save_process
from lupi.objectives import Elbo

SETTINGS = ProcessSettings(observation_size=2, privileged_size=2, marks_gaps=True)


@pytest.fixture(scope="module")
def process():
    return build_process(SETTINGS, key=jax.random.key(0))


@pytest.fixture
def gaps():
    return jnp.zeros((10, 2), bool).at[jnp.array([1, 4]), jnp.array([0, 1])].set(True)


def with_gaps(observations: Observations, gaps, filling: float) -> Observations:
    return Observations(
        observations.ts, jnp.where(gaps, filling, observations.ys), observations.mask, gaps
    )


def test_what_stands_in_a_gap_does_not_matter(process, observations, gaps):
    privileged = jnp.array([0.3, -0.2])
    losses = []
    for filling in (0.0, 1e6):
        seen = with_gaps(observations, gaps, filling)
        split = Split(seen, jnp.arange(10) < 5)
        losses.append(Elbo()(process, split, privileged, key=jax.random.key(1))[0])
    assert losses[0] == losses[1]


def test_a_gap_is_not_a_zero(process, observations, gaps):
    gap = process.infer(with_gaps(observations, gaps, 0.0)).loc
    zero = process.infer(with_gaps(observations, jnp.zeros_like(gaps), 0.0)).loc
    zeros_there = process.infer(
        Observations(observations.ts, jnp.where(gaps, 0.0, observations.ys), observations.mask)
    ).loc
    assert not np.allclose(gap, zeros_there)
    np.testing.assert_array_equal(zero, process.infer(observations).loc)


def test_a_process_that_does_not_mark_gaps_refuses_them(lupi, observations, gaps):
    with pytest.raises(UserError, match="does not mark them"):
        lupi.infer(with_gaps(observations, gaps, 0.0))


def test_without_any_privileged_value_training_sees_what_prediction_sees(process, observations):
    unknown = process.infer_in_training(observations, jnp.full(2, jnp.nan))
    np.testing.assert_array_equal(unknown.loc, process.infer(observations).loc)
    some = process.infer_in_training(observations, jnp.array([0.5, jnp.nan]))
    assert np.isfinite(some.loc).all()
    assert not np.allclose(some.loc, unknown.loc)


def test_unknown_privileged_values_leave_the_gradient_finite(process, observations):
    split = Split(observations, jnp.arange(10) < 5)

    @eqx.filter_grad
    def gradient(process, privileged):
        return Elbo()(process, split, privileged, key=jax.random.key(0))[0]

    for privileged in (jnp.full(2, jnp.nan), jnp.array([0.5, jnp.nan])):
        leaves = jax.tree.leaves(gradient(process, privileged))
        assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_a_process_that_marks_gaps_is_saved_and_loaded(process, observations, gaps, tmp_path):
    save_process(tmp_path / "process", process, SETTINGS)
    seen = with_gaps(observations, gaps, 0.0)
    np.testing.assert_array_equal(
        load_process(tmp_path / "process").infer(seen).loc, process.infer(seen).loc
    )
    assert process.observation_encoder.observation_size == 2
    assert process.privileged_encoder.privileged_size == 2
