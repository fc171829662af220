import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from pydantic import ValidationError

from lupi.data import Observations, Task, split_randomly
from lupi.errors import UserError
from lupi.objectives import Elbo
from lupi.training import TrainingSettings, fit

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
    settings = SETTINGS.model_copy(update={"epochs": 2})
    result = fit(lupi, tasks, tasks, settings=settings, on_epoch=seen.append, key=jax.random.key(0))
    assert seen == result.history


def test_the_compiled_epoch_does_what_a_plain_loop_with_optax_adam_does(nopi, tasks):
    settings = TrainingSettings(epochs=1, context_sizes=(3, 3), target_sizes=(9, 9))
    key = jax.random.key(7)
    compiled = fit(nopi, tasks, tasks, settings=settings, key=key).process

    weights, structure = eqx.partition(nopi, eqx.is_array)
    adam = optax.adam(1e-3)
    state = adam.init(weights)
    order_key, steps_key = jax.random.split(jax.random.fold_in(jax.random.split(key)[0], 1))

    @jax.jit
    def gradient_of(weights, task, key):
        split_key, objective_key = jax.random.split(key)
        split = split_randomly(
            task.observations, context_sizes=(3, 3), target_sizes=(9, 9), key=split_key
        )

        def loss(weights):
            process = eqx.combine(weights, structure)
            return Elbo()(process, split, task.privileged, key=objective_key)[0]

        return jax.grad(loss)(weights)

    order = jax.random.permutation(order_key, 12)
    for index, step_key in zip(order, jax.random.split(steps_key, 12), strict=True):
        gradient = gradient_of(weights, tasks[int(index)], step_key)
        updates, state = adam.update(gradient, state)
        weights = optax.apply_updates(weights, updates)
    for first, second in zip(arrays(compiled), jax.tree.leaves(weights), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-3, atol=2e-5)


def test_batches_train_too_and_leave_out_the_remainder(lupi, tasks):
    settings = SETTINGS.model_copy(update={"batch_size": 5, "epochs": 1})
    batched = fit(lupi, tasks, tasks, settings=settings, key=jax.random.key(0))
    again = fit(lupi, tasks, tasks, settings=settings, key=jax.random.key(0))
    assert batched.history == again.history
    # Two steps of Adam at 1e-3 move no weight further than 2e-3; twelve steps would.
    moved = max(
        float(jnp.abs(new - old).max())
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


def test_a_loss_that_is_not_a_number_stops_with_the_epoch(lupi, tasks):
    wild = SETTINGS.model_copy(update={"learning_rate": 1e30})
    with pytest.raises(UserError, match=r"in epoch 1 .* lower learning_rate"):
        fit(lupi, tasks, tasks, settings=wild, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda o: Observations(10 * o.ts, o.ys, o.mask), r"go from 0 to 10, a process is trained"),
        (lambda o: Observations(o.ts, o.ys.at[3].set(jnp.nan), o.mask), "not finite numbers: mask"),
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
