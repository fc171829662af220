"""The one training loop."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from lupi.data import Task, split_randomly
from lupi.errors import UserError
from lupi.models import NeuralODEProcess
from lupi.objectives import Elbo
from lupi.training.settings import TrainingSettings

EpochRow = dict[str, int | float]
"""One epoch: `epoch`, and each term as `train_…` (mean over its steps) and `validation_…`."""


class Fitted(NamedTuple):
    """A trained process and how it got there."""

    process: NeuralODEProcess
    history: list[EpochRow]


def fit(
    process: NeuralODEProcess,
    training: Task,
    validation: Task,
    *,
    settings: TrainingSettings,
    objective: Elbo | None = None,
    on_epoch: Callable[[EpochRow], None] | None = None,
    key: PRNGKeyArray,
) -> Fitted:
    """Train with Adam on random context/target splits; `on_epoch` sees each epoch as it ends.

    Every epoch goes once through the training tasks in a new order, each with a new split; a
    remainder smaller than a batch is left out of that epoch. Validation uses the same splits and
    samples at every epoch, so that its curve moves only when the process does. An epoch is one
    compiled call; the result depends on nothing but the arguments.
    """
    num_tasks = len(training)
    if settings.batch_size > num_tasks:
        raise UserError(
            f"batch_size is {settings.batch_size}, but there are {num_tasks} training tasks: "
            "lower batch_size or give more tasks."
        )
    for part, tasks in (("training", training), ("validation", validation)):
        _check_tasks(process, tasks, part)
    objective = Elbo() if objective is None else objective
    weights, structure = eqx.partition(process, eqx.is_array)
    optimiser_state = _optimiser(settings).init(weights)

    training_key, validation_key = jax.random.split(key)
    history = []
    for epoch in range(1, settings.epochs + 1):
        epoch_key = jax.random.fold_in(training_key, epoch)
        weights, optimiser_state, terms = _run_epoch(
            weights,
            optimiser_state,
            training,
            validation,
            epoch_key,
            validation_key,
            structure=structure,
            objective=objective,
            settings=settings,
        )
        row = {"epoch": epoch} | {name: float(value) for name, value in terms.items()}
        if not np.isfinite(list(row.values())).all():
            raise UserError(
                f"the loss stopped being a number in epoch {epoch} (the latent ODE could not be "
                "solved, or the weights diverged): lower learning_rate, or rescale the data."
            )
        history.append(row)
        if on_epoch is not None:
            on_epoch(row)
    return Fitted(eqx.combine(weights, structure), history)


def _check_tasks(process: NeuralODEProcess, tasks: Task, part: str) -> None:
    sizes = {"observations": process.observation_encoder.observation_size}
    arrived = {"observations": tasks.observations.ys.shape[-1]}
    if process.privileged_encoder is not None:
        sizes["privileged"] = process.privileged_encoder.privileged_size
        arrived["privileged"] = tasks.privileged.shape[-1]
    for name, size in sizes.items():
        if arrived[name] != size:
            raise UserError(
                f"`{name}` of the {part} tasks has size {arrived[name]}, the process was built "
                f"with {size}: rebuild the process or change the tasks."
            )
    mask = np.asarray(tasks.observations.mask)
    ts, ys = np.asarray(tasks.observations.ts), np.asarray(tasks.observations.ys)
    if not (np.isfinite(ts).all() and np.isfinite(ys).all()):
        raise UserError(
            f"the {part} tasks hold values that are not finite numbers: mask those points and put "
            "any number in their place."
        )
    if mask.any() and not (ts[mask].min() >= 0 and ts[mask].max() <= 1):
        raise UserError(
            f"times of the {part} tasks go from {ts[mask].min():g} to {ts[mask].max():g}, a "
            "process is trained on 0 to 1: divide them by the horizon (`time_unit` of "
            "`generate_tasks`)."
        )


def _optimiser(settings: TrainingSettings) -> optax.GradientTransformation:
    # Adam on one long vector instead of one array per layer: a third less time per step.
    return optax.flatten(optax.adam(settings.learning_rate))


@eqx.filter_jit
def _run_epoch(
    weights,
    optimiser_state,
    training: Task,
    validation: Task,
    epoch_key,
    validation_key,
    *,
    structure,
    objective: Elbo,
    settings: TrainingSettings,
):
    """All steps of one epoch and its validation, in one compiled call."""
    optimiser = _optimiser(settings)

    def task_loss(weights, task: Task, key):
        process = eqx.combine(weights, structure)
        split_key, objective_key = jax.random.split(key)
        split = split_randomly(
            task.observations,
            context_sizes=settings.context_sizes,
            target_sizes=settings.target_sizes,
            key=split_key,
        )
        loss, terms = objective(process, split, task.privileged, key=objective_key)
        return loss, {"loss": loss} | terms

    def mean_loss(weights, tasks: Task, key):
        keys = jax.random.split(key, len(tasks))
        losses, terms = jax.vmap(task_loss, in_axes=(None, 0, 0))(weights, tasks, keys)
        return losses.mean(), jax.tree.map(jnp.mean, terms)

    def batch_loss(weights, tasks: Task, key):
        # A batch of one is not mapped over. It saves no time that could be measured; taking this
        # case out changes the rounding, and so the README's figures: do it when they are next made.
        if settings.batch_size > 1:
            return mean_loss(weights, tasks, key)
        return task_loss(weights, tasks[0], key)

    def step(carry, batch):
        weights, optimiser_state = carry
        indices, key = batch
        gradient, terms = jax.grad(batch_loss, has_aux=True)(weights, training[indices], key)
        updates, optimiser_state = optimiser.update(gradient, optimiser_state)
        return (optax.apply_updates(weights, updates), optimiser_state), terms

    num_tasks = len(training)
    num_steps = num_tasks // settings.batch_size
    order_key, steps_key = jax.random.split(epoch_key)
    order = jax.random.permutation(order_key, num_tasks)[: num_steps * settings.batch_size]
    batches = (order.reshape(num_steps, -1), jax.random.split(steps_key, num_steps))
    (weights, optimiser_state), terms = jax.lax.scan(step, (weights, optimiser_state), batches)
    _, validation_terms = mean_loss(weights, validation, validation_key)
    row = {f"train_{name}": values.mean() for name, values in terms.items()}
    row |= {f"validation_{name}": value for name, value in validation_terms.items()}
    return weights, optimiser_state, row
