from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from pydantic import ValidationError

from lupi.data import Observations, Task, generate_tasks, split_randomly
from lupi.errors import UserError, UserNotice
from lupi.experiments import EXPERIMENTS
from lupi.models import NeuralODEProcessSettings, build_process, load_process
from lupi.objectives import Elbo
from lupi.training import TrainingSettings, fit, fit_together, loop, train_epochs

OLD_FILES = Path(__file__).parents[1] / "old_files"
SETTINGS = TrainingSettings(epochs=3, context_sizes=(3, 5), target_sizes=(8, 15))


def arrays(process):
    return jax.tree.leaves(eqx.filter(process, eqx.is_array))


@pytest.fixture(scope="module")
def fitted(lupi, tasks):
    return fit(lupi, tasks, tasks[:4], settings=SETTINGS, key=jax.random.key(0))


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(fitted, lupi, tasks):
    again = fit(lupi, tasks, tasks[:4], settings=SETTINGS, key=jax.random.key(0))
    other = fit(lupi, tasks, tasks[:4], settings=SETTINGS, key=jax.random.key(1))
    for first, second, third in zip(
        arrays(fitted.process), arrays(again.process), arrays(other.process), strict=True
    ):
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, third)
    assert fitted.history == again.history


def test_the_history_has_every_term_of_every_epoch_for_training_and_validation(fitted):
    assert [row["epoch"] for row in fitted.history] == [1, 2, 3]
    for row in fitted.history:
        for part in ("train", "validation"):
            bound = row[f"{part}_log_likelihood"] - row[f"{part}_kl"]
            assert row[f"{part}_loss"] == pytest.approx(-bound, rel=1e-4)


def test_training_lowers_the_loss(fitted):
    assert fitted.history[-1]["validation_loss"] < fitted.history[0]["validation_loss"]


def test_on_epoch_sees_each_epoch_as_it_ends(lupi, tasks):
    seen = []
    key = jax.random.key(0)
    result = fit(lupi, tasks, tasks[:4], settings=SETTINGS, on_epoch=seen.append, key=key)
    assert seen == result.history


def test_how_long_is_trained_and_how_often_it_is_judged_is_compiled_into_nothing(
    fitted, lupi, tasks, compilations
):
    others = {"epochs": 2, "validations": 1, "keep_best": True}
    for settings in (SETTINGS, SETTINGS.model_copy(update=others)):
        compilations.clear()
        fit(lupi, tasks, tasks[:4], settings=settings, key=jax.random.key(0))
    assert compilations == []


def test_the_compiled_epoch_does_what_a_plain_loop_with_optax_adam_does(nopi, tasks):
    settings = TrainingSettings(epochs=1, context_sizes=(3, 3), target_sizes=(9, 9))
    key = jax.random.key(7)
    compiled = fit(nopi, tasks, tasks[:4], settings=settings, key=key).process

    weights, structure = eqx.partition(nopi.in_training(), eqx.is_array)
    adam = optax.adam(1e-3)
    state = jax.jit(adam.init)(weights)
    order_key, steps_key = jax.random.split(jax.random.fold_in(jax.random.split(key)[0], 1))

    @jax.jit
    def step(weights, state, task, key):
        split_key, objective_key = jax.random.split(key)
        split = split_randomly(
            task.observations, context_sizes=(3, 3), target_sizes=(9, 9), key=split_key
        )

        def loss(weights):
            process = eqx.combine(weights, structure)
            return Elbo()(process, split, task.privileged, key=objective_key)[0]

        updates, state = adam.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, updates), state

    order = np.asarray(jax.random.permutation(order_key, 12))
    whole = jax.device_get(tasks)
    for index, step_key in zip(order, jax.random.split(steps_key, 12), strict=True):
        weights, state = step(weights, state, whole[int(index)], step_key)
    for first, second in zip(arrays(compiled), jax.tree.leaves(weights), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-3, atol=2e-5)


BEFORE = {
    "nopi": (
        [42.1667, 25.6113, 12.0627, 0.5766, -10.9316],
        [20.9333, 7.3382, -2.1321, -16.5265, -21.8828],
    ),
    "lupi": (
        [41.2975, 25.4531, 12.0514, 0.1645, -11.2961],
        [20.9652, 5.5744, -2.4195, -18.1228, -23.0443],
    ),
}
"""Losses of training and validation that version 0.1.0 printed: one process at a time, compiled
with all optimisations, splits drawn in the loop, the ODE solved in the space of the states. The
files hold the weights that it began with."""


@pytest.mark.parametrize("model", ["nopi", "lupi"])
def test_the_loss_curve_is_that_of_the_slower_engine_before(model):
    springs = EXPERIMENTS["stiffness"].source
    times = np.linspace(0.0, springs.horizon, 51)
    tasks = generate_tasks(springs.system, times, 24, time_unit=10.0, key=jax.random.key(3))
    with pytest.warns(UserNotice, match="without a checksum"):
        process = load_process(OLD_FILES / f"initial-{model}.safetensors")
    training = TrainingSettings(epochs=5)
    fitted = fit(process, tasks[:20], tasks[20:], settings=training, key=jax.random.key(5))
    for part, before in zip(("train", "validation"), BEFORE[model], strict=True):
        after = [row[f"{part}_loss"] for row in fitted.history]
        np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-3)


def assert_same(first, second, **tolerance):
    for one, other in zip(arrays(first), arrays(second), strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


def test_processes_trained_together_become_what_they_become_alone(nopi, tasks):
    other = build_process(NeuralODEProcessSettings(), observation_size=2, key=jax.random.key(9))
    keys = [jax.random.key(0), jax.random.key(1)]
    halves = [tasks[:6], tasks[6:]]
    together = fit_together(
        [nopi, other], halves, [tasks[:4], tasks[4:8]], settings=SETTINGS, keys=keys
    )
    for i, (process, fitted) in enumerate(zip((nopi, other), together, strict=True)):
        alone = fit(process, halves[i], tasks[4 * i : 4 * i + 4], settings=SETTINGS, key=keys[i])
        assert_same(fitted.process, alone.process, rtol=1e-4, atol=1e-5)
        assert fitted.history[-1] == pytest.approx(alone.history[-1], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_two_networks_of_one_forecaster_learn_side_by_side_what_each_learns_alone(
    threads, fitted, lupi, tasks, monkeypatch
):
    monkeypatch.setattr(loop, "num_threads", lambda: threads)
    keys = [jax.random.key(0), jax.random.key(1)]
    *_, state = train_epochs(
        [lupi] * 2, [tasks] * 2, [tasks[:4]] * 2, settings=SETTINGS, as_one=True, keys=keys
    )
    first, second = loop.finish([lupi] * 2, state, SETTINGS, as_one=True)
    assert first.history == fitted.history
    for one, alone in zip(arrays(first.process), arrays(fitted.process), strict=True):
        np.testing.assert_array_equal(one, alone)
    assert second.history != first.history


def test_tasks_streamed_in_parts_train_as_all_at_once(fitted, lupi, tasks, monkeypatch):
    monkeypatch.setattr(loop, "TASKS_AT_ONCE", 5)
    streamed = fit(lupi, tasks, tasks[:4], settings=SETTINGS, key=jax.random.key(0))
    assert_same(streamed.process, fitted.process, rtol=1e-4, atol=1e-5)
    assert streamed.history[-1] == pytest.approx(fitted.history[-1], rel=1e-4, abs=1e-4)


def test_a_loop_compiled_to_run_fast_computes_the_same(fitted, lupi, tasks, monkeypatch, optimised):
    monkeypatch.setattr(loop, "WORTH_OPTIMISING", 0)
    fast = fit(lupi, tasks, tasks[:4], settings=SETTINGS, key=jax.random.key(0))
    assert_same(fast.process, fitted.process, rtol=1e-3, atol=2e-5)


def test_training_and_prediction_have_solver_steps_of_their_own(fitted, lupi, tasks):
    process = build_process(
        NeuralODEProcessSettings(training_solver_steps=3),
        observation_size=2,
        privileged_size=1,
        key=jax.random.key(0),
    )
    settings = SETTINGS.model_copy(update={"epochs": 1})
    coarse = fit(process, tasks, tasks[:4], settings=settings, key=jax.random.key(0))
    assert coarse.history[0] == pytest.approx(fitted.history[0], rel=0.1)
    assert coarse.history[0] != fitted.history[0]
    assert coarse.process.latent_ode.steps_per_unit == lupi.latent_ode.steps_per_unit


def test_batches_train_too_and_leave_out_the_remainder(lupi, tasks):
    settings = SETTINGS.model_copy(update={"batch_size": 5, "epochs": 1})
    batched = fit(lupi, tasks, tasks[:4], settings=settings, key=jax.random.key(0))
    again = fit(lupi, tasks, tasks[:4], settings=settings, key=jax.random.key(0))
    assert batched.history == again.history
    # Two steps of Adam at 1e-3 move no weight further than 2e-3; twelve steps would.
    moved = max(
        float(np.abs(np.asarray(new) - np.asarray(old)).max())
        for new, old in zip(arrays(batched.process), arrays(lupi), strict=True)
    )
    assert 1e-3 < moved < 2.1e-3


def test_a_batch_larger_than_the_data_is_refused(lupi, tasks):
    settings = SETTINGS.model_copy(update={"batch_size": 13})
    with pytest.raises(UserError, match="batch_size is 13, but there are 12 training tasks"):
        fit(lupi, tasks, tasks, settings=settings, key=jax.random.key(0))


def test_privileged_values_of_the_wrong_number_are_refused(lupi, tasks):
    wide = eqx.tree_at(lambda t: t.privileged, tasks, jnp.ones((12, 2)))
    with pytest.raises(
        UserError, match="validation tasks has size 2, the process was built with 1"
    ):
        fit(lupi, tasks, wide, settings=SETTINGS, key=jax.random.key(0))


def test_a_loss_that_is_not_a_number_stops_with_the_step(lupi, tasks):
    wild = SETTINGS.model_copy(update={"learning_rate": 1e30})
    with pytest.raises(UserError, match=r"in step 2 of epoch 1 .* lower learning_rate"):
        fit(lupi, tasks, tasks[:4], settings=wild, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda o: Observations(10 * o.ts, o.ys, o.mask), r"go from 0 to 10, a process is trained"),
        (
            lambda o: Observations(o.ts, jnp.array(o.ys).at[3].set(jnp.nan), o.mask),
            "not finite numbers: mask",
        ),
        (lambda o: Observations(o.ts, o.ys[..., :1], o.mask), "`observations` of the training"),
    ],
)
def test_tasks_that_cannot_be_trained_on_are_refused(lupi, tasks, spoil, message):
    spoiled = Task(spoil(tasks.observations), tasks.privileged)
    with pytest.raises(UserError, match=message):
        fit(lupi, spoiled, tasks, settings=SETTINGS, key=jax.random.key(0))


def test_sizes_in_the_wrong_order_are_refused():
    with pytest.raises(ValidationError, match=r"context_sizes must be \(smallest, largest\)"):
        TrainingSettings(context_sizes=(9, 5))


def test_history_and_weights_come_as_plain_numbers_and_arrays(fitted):
    assert all(isinstance(value, int | float) for row in fitted.history for value in row.values())
    assert all(isinstance(leaf, jax.Array) for leaf in arrays(fitted.process))
