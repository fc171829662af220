"""Muon on stacks of matrices is Muon on each of them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lupi.training import TrainingSettings
from lupi.training.optimiser import LIKE_ADAM, initial_state, make_optimiser

SETTINGS = TrainingSettings(optimiser="muon", learning_rate=0.01)


def weights(seed: int) -> dict:
    rng = np.random.default_rng(seed)
    shapes = {"tall": (6, 3), "wide": (3, 6), "square": (4, 4), "bias": (4,), "number": ()}
    return {name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}


def test_muon_is_that_of_optax():
    ours = make_optimiser(SETTINGS, num_tasks=10)
    theirs = optax.contrib.muon(0.01, consistent_rms=LIKE_ADAM)
    one, other = weights(0), weights(0)
    our_state, their_state = ours.init(one), theirs.init(other)
    for step in range(5):
        gradient = weights(step + 1)
        moves, our_state = jax.jit(ours.update)(gradient, our_state, one)
        one = optax.apply_updates(one, moves)
        moves, their_state = jax.jit(theirs.update)(gradient, their_state, other)
        other = optax.apply_updates(other, moves)
    for name, value in one.items():
        np.testing.assert_allclose(value, other[name], rtol=2e-4, atol=1e-6, err_msg=name)


def test_a_step_moves_every_direction_of_a_matrix_about_equally():
    optimiser = make_optimiser(SETTINGS, num_tasks=10)
    skew = {"w": jnp.diag(jnp.array([1.0, 1e-1, 1e-2]))}
    moves, _ = jax.jit(optimiser.update)(skew, optimiser.init(skew), skew)
    lengths = np.linalg.svd(moves["w"], compute_uv=False)
    assert lengths.min() > 0.4 * lengths.max()


@pytest.mark.parametrize("name", ["adam", "muon"])
def test_the_rate_rises_and_falls_to_nothing(name):
    settings = TrainingSettings(optimiser=name, decay=True, epochs=20, learning_rate=0.01)
    optimiser = make_optimiser(settings, num_tasks=5)
    here = weights(0)
    state = optimiser.init(here)
    update, lengths = jax.jit(optimiser.update), []
    for _ in range(101):
        moves, state = update(here, state, here)
        lengths.append(np.sqrt(sum((np.asarray(x) ** 2).sum() for x in jax.tree.leaves(moves))))
    assert lengths[0] == 0
    assert np.argmax(lengths) in range(3, 12)
    assert lengths[100] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", ["adam", "muon"])
def test_long_gradients_are_shortened(name):
    settings = TrainingSettings(optimiser=name, max_gradient=1.0)
    optimiser = make_optimiser(settings, num_tasks=5)
    here = weights(0)
    long = jax.tree.map(lambda leaf: 1e6 * leaf, here)
    short = jax.tree.map(lambda leaf: leaf / optax.tree.norm(here), here)
    state = optimiser.init(here)
    update = jax.jit(optimiser.update)
    _, after_long = update(long, state, here)
    _, after_short = update(short, state, here)
    for a, b in zip(jax.tree.leaves(after_long), jax.tree.leaves(after_short), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", ["adam", "muon"])
def test_several_processes_have_a_state_each(name):
    settings = TrainingSettings(optimiser=name)
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), weights(0), weights(1))
    together = initial_state(stacked, settings, num_tasks=5)
    alone = make_optimiser(settings, num_tasks=5).init(weights(1))
    for many, one in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        np.testing.assert_array_equal(many[1], one)
