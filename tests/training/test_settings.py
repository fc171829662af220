"""What each setting of training does, seen on losses whose course is known beforehand."""

import equinox as eqx
import jax
import numpy as np
import pytest

from lupi.data import Observations, Task, split_randomly
from lupi.models import ConditionalProcessSettings, build_process
from lupi.objectives import Elbo
from lupi.training import TrainingSettings, begin, fit, fit_together, train_epochs

RATE = 1e-2


@pytest.fixture(scope="module")
def process():
    settings = ConditionalProcessSettings(hidden_size=2, representation_size=2)
    return build_process(settings, observation_size=1, key=jax.random.key(0))


def slope(process, split, privileged, *, key):
    """The sum of all weights, times the first privileged value: one gradient for every weight.

    Adam then moves every weight by the learning rate, at each step.
    """
    leaves = jax.tree.leaves(eqx.filter(process, eqx.is_array))
    return privileged[0] * sum(leaf.sum() for leaf in leaves), {}


def valley(process, split, privileged, *, key):
    """Downhill along one weight, or a valley: the privileged values say what, and where it is."""
    weight = process.decoder.mlp.layers[-1].bias[0]
    steepness, depth, bottom = privileged
    return steepness * weight + depth * (weight - bottom) ** 2, {}


def tasks_of(privileged) -> Task:
    privileged = np.asarray(privileged, np.float32)
    ts = np.broadcast_to(np.linspace(0, 1, 6, dtype=np.float32), (len(privileged), 6))
    return Task(Observations(ts, np.cos(ts)[..., None]), privileged)


def weights_of(process):
    leaves = jax.tree.leaves(eqx.filter(process, eqx.is_array))
    return np.concatenate([np.ravel(leaf) for leaf in leaves]).astype(float)


def train(process, training, validation=None, *, objective=slope, **settings):
    return fit(
        process,
        training,
        training[:1] if validation is None else validation,
        settings=TrainingSettings(learning_rate=RATE, **settings),
        objective=objective,
        key=jax.random.key(1),
    )


def moves(process, tasks, **settings):
    """How far each epoch moves the weights."""
    settings = TrainingSettings(learning_rate=RATE, **settings)
    where = [weights_of(begin([process], settings, len(tasks), 1).weights)]
    for state in train_epochs(
        [process],
        [tasks],
        [tasks[:1]],
        settings=settings,
        objective=slope,
        keys=[jax.random.key(1)],
    ):
        where.append(weights_of(state.weights))
    steps = np.diff(where, axis=0)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[:, :1], steps.shape), atol=1e-5)
    return -steps.mean(axis=1)


def test_without_decay_every_epoch_goes_as_far(process):
    tasks = tasks_of(np.ones((8, 1)))
    np.testing.assert_allclose(moves(process, tasks, epochs=5), 8 * RATE, rtol=1e-3)


def test_with_decay_the_rate_rises_for_a_twentieth_of_the_steps_and_falls_to_zero_as_a_cosine(
    process,
):
    found = moves(process, tasks_of(np.ones((8, 1))), epochs=10, decay=True)
    step = np.arange(80)
    rise = step / 4
    fall = 0.5 * (1 + np.cos(np.pi * (step - 4) / (80 - 4)))
    rates = RATE * np.where(step < 4, rise, fall)
    np.testing.assert_allclose(found, rates.reshape(10, 8).sum(axis=1), rtol=1e-2, atol=1e-6)
    assert found[-1] < found.max() / 30


def test_a_gradient_longer_than_the_largest_is_shortened_to_it(process):
    """The norm of a gradient of ones is the root of their number, and Adam forgets no large one."""
    ones, outlier = np.ones((8, 1)), np.ones((8, 1))
    outlier[3] = 1e4
    norm = np.sqrt(weights_of(process).size)
    plain = weights_of(train(process, tasks_of(ones), epochs=2).process)
    clipped = train(process, tasks_of(outlier), epochs=2, max_gradient=norm).process
    np.testing.assert_allclose(weights_of(clipped), plain, atol=1e-5)
    unclipped = train(process, tasks_of(outlier), epochs=2).process
    assert np.abs(weights_of(unclipped) - plain).min() > 4 * RATE


def test_a_gradient_shorter_than_the_largest_stays_as_it_is(process):
    mixed = tasks_of(np.linspace(0.1, 1.0, 8)[:, None])
    plain = weights_of(train(process, mixed, epochs=2).process)
    clipped = train(process, mixed, epochs=2, max_gradient=1e3).process
    np.testing.assert_array_equal(weights_of(clipped), plain)


@pytest.fixture(scope="module")
def downhill(process):
    """Training goes steadily down one weight; validation is best where it is after 3.2 epochs."""
    start = float(process.decoder.mlp.layers[-1].bias[0])
    return tasks_of([[1.0, 0.0, 0.0]] * 8), tasks_of([[0.0, 1.0, start - 3.2 * 8 * RATE]] * 2)


def test_the_weights_of_the_best_validated_epoch_are_kept(process, downhill):
    kept = train(process, *downhill, objective=valley, epochs=6, keep_best=True)
    losses = [row["validation_loss"] for row in kept.history]
    assert np.argmin(losses) == 2
    assert losses[-1] > 2 * losses[2]
    ended_there = train(process, *downhill, objective=valley, epochs=3)
    np.testing.assert_array_equal(weights_of(kept.process), weights_of(ended_there.process))


def test_the_last_weights_are_kept_where_held_out_tasks_do_not_agree(process, downhill):
    """Of three tasks one is best after one epoch and two at the end: the mean alone would decide
    for an epoch between."""
    training, _ = downhill
    start = float(process.decoder.mlp.layers[-1].bias[0])
    places = [start - epochs * 8 * RATE for epochs in (0.2, 6, 6)]
    validation = tasks_of([[0.0, 1.0, place] for place in places])
    last = train(process, training, validation, objective=valley, epochs=6)
    kept = train(process, training, validation, objective=valley, epochs=6, keep_best=True)
    losses = [row["validation_loss"] for row in kept.history]
    assert np.argmin(losses) == 3
    np.testing.assert_array_equal(weights_of(kept.process), weights_of(last.process))


def test_one_held_out_task_says_nothing(process, downhill):
    training, validation = downhill
    last = train(process, training, validation[:1], objective=valley, epochs=6)
    kept = train(process, training, validation[:1], objective=valley, epochs=6, keep_best=True)
    np.testing.assert_array_equal(weights_of(kept.process), weights_of(last.process))


def test_otherwise_the_last_weights_are_given(process, downhill):
    last = train(process, *downhill, objective=valley, epochs=6)
    kept = train(process, *downhill, objective=valley, epochs=6, keep_best=True)
    moved = weights_of(process) - weights_of(last.process)
    assert moved.max() == pytest.approx(6 * 8 * RATE, rel=1e-3)
    assert not np.array_equal(weights_of(last.process), weights_of(kept.process))


def test_only_validated_epochs_can_be_the_best(process, downhill):
    """The first and the last of six are; the third would be the best, and the first is next."""
    settings = {"objective": valley, "epochs": 6, "validations": 1, "keep_best": True}
    kept = train(process, *downhill, **settings)
    assert [row["epoch"] for row in kept.history if "validation_loss" in row] == [1, 6]
    ended_there = train(process, *downhill, objective=valley, epochs=1)
    np.testing.assert_array_equal(weights_of(kept.process), weights_of(ended_there.process))


def test_each_process_keeps_its_own_best(process, downhill):
    training, validation = downhill
    start = float(process.decoder.mlp.layers[-1].bias[0])
    earlier = tasks_of([[0.0, 1.0, start - 1.2 * 8 * RATE]] * 2)
    settings = TrainingSettings(learning_rate=RATE, epochs=6, keep_best=True)
    both = fit_together(
        [process] * 2,
        [training] * 2,
        [validation, earlier],
        settings=settings,
        objective=valley,
        keys=[jax.random.key(1)] * 2,
    )
    moved = [(weights_of(process) - weights_of(fitted.process)).max() for fitted in both]
    np.testing.assert_allclose(moved, [3 * 8 * RATE, 8 * RATE], rtol=1e-3)


@pytest.mark.parametrize(
    ("epochs", "validations", "expected"),
    [
        (6, None, [1, 2, 3, 4, 5, 6]),
        (10, 3, [1, 4, 8, 10]),
        (10, 100, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (7, 1, [1, 7]),
        (1, 1, [1]),
    ],
)
def test_validation_is_after_the_first_and_the_last_epoch_and_evenly_between(
    process, epochs, validations, expected
):
    tasks = tasks_of(np.ones((2, 1)))
    history = train(process, tasks, epochs=epochs, validations=validations).history
    assert [row["epoch"] for row in history] == list(range(1, epochs + 1))
    assert [row["epoch"] for row in history if "validation_loss" in row] == expected
    assert all("train_loss" in row for row in history)


def test_how_often_is_validated_changes_nothing_in_training(process):
    tasks = tasks_of(np.ones((2, 1)))
    often = train(process, tasks, epochs=4, objective=Elbo())
    rarely = train(process, tasks, epochs=4, objective=Elbo(), validations=1)
    np.testing.assert_array_equal(weights_of(often.process), weights_of(rarely.process))


@pytest.mark.parametrize("draws", [1, 3])
def test_the_validation_loss_is_the_mean_over_the_splits_of_all_tasks(process, draws):
    sizes = {"context_sizes": (1, 3), "target_sizes": (2, 5)}
    tasks = tasks_of([[1.0], [2.0]])
    fitted = train(
        process, tasks, tasks, objective=Elbo(), epochs=1, validation_draws=draws, **sizes
    )
    _, validation_key = jax.random.split(jax.random.key(1))
    losses = []
    for i, key in enumerate(jax.random.split(validation_key, 2 * draws)):
        split_key, objective_key = jax.random.split(key)
        task = tasks[i % 2]
        split = split_randomly(task.observations, **sizes, key=split_key)
        losses.append(Elbo()(fitted.process, split, task.privileged, key=objective_key)[0])
    assert len(set(map(float, losses))) == 2 * draws
    assert fitted.history[0]["validation_loss"] == pytest.approx(np.mean(losses), rel=1e-4)


def test_without_a_number_of_epochs_there_are_twenty_thousand_steps():
    settings = TrainingSettings(epochs=None)
    assert settings.num_epochs(400) == 50
    assert settings.num_epochs(300) == 67
    assert TrainingSettings(epochs=None, batch_size=4).num_epochs(400) == 200
    assert settings.num_epochs(1) == 2000
