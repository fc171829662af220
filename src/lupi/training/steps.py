"""What is compiled of training: steps on batches of tasks, and validation."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from lupi.data import Task, split_randomly
from lupi.models import AbstractProcess
from lupi.objectives import AbstractObjective
from lupi.training.optimiser import make_optimiser
from lupi.training.settings import TrainingSettings


def _mapped(function: Callable) -> Callable:
    """`jax.vmap`, but an axis of length one is taken off: much less is then traced and compiled."""

    def call(*arguments):
        if {leaf.shape[0] for leaf in jax.tree.leaves(arguments)} != {1}:
            return jax.vmap(function)(*arguments)
        result = function(*jax.tree.map(lambda leaf: leaf[0], arguments))
        return jax.tree.map(lambda leaf: leaf[None], result)

    return call


class Loop(NamedTuple):
    """What is compiled into the loop."""

    structure: AbstractProcess
    objective: AbstractObjective | Callable
    settings: TrainingSettings
    """No more of them than it depends on."""
    num_tasks: int = 0
    """For a learning rate that falls, how many there are."""

    def split(self, tasks: Task, keys):
        """Of each task what its loss needs: a random split, privileged values and a key."""
        settings = self.settings

        def one(task: Task, key):
            split_key, objective_key = jax.random.split(key)
            split = split_randomly(
                task.observations,
                context_sizes=settings.context_sizes,
                target_sizes=settings.target_sizes,
                contexts=settings.contexts,
                key=split_key,
            )
            return split.with_room(settings.largest_set), task.privileged, objective_key

        return jax.vmap(one)(tasks, keys)

    def losses(self, weights, parts) -> dict[str, Array]:
        """The loss of each task and its terms."""
        process = eqx.combine(weights, self.structure)
        process = process.in_training()
        losses, terms = _mapped(lambda s, p, k: self.objective(process, s, p, key=k))(*parts)
        return terms | {"loss": losses}


def draw_order(key_data, epoch, num_tasks: int):
    """The order of the tasks in this epoch, and a key for each, of each process."""

    def one(key_data):
        training_key, _ = jax.random.split(jax.random.wrap_key_data(key_data))
        order_key, steps_key = jax.random.split(jax.random.fold_in(training_key, epoch))
        keys = jax.random.split(steps_key, num_tasks)
        return jax.random.permutation(order_key, num_tasks), jax.random.key_data(keys)

    return jax.vmap(one)(key_data)


def run_steps(loop: Loop, weights, state, tasks: Task, key_data):
    """One step for each batch of the tasks, in their order; the terms of every step."""
    optimiser = make_optimiser(loop.settings, loop.num_tasks)
    batch_size = loop.settings.batch_size

    def run(weights, state, tasks, key_data):
        # All splits before the steps: at once they take less time than one in every step.
        parts = loop.split(tasks, jax.random.wrap_key_data(key_data))
        batches = jax.tree.map(
            lambda leaf: leaf.reshape(len(leaf) // batch_size, batch_size, *leaf.shape[1:]), parts
        )

        def loss(weights, batch):
            terms = jax.tree.map(jnp.mean, loop.losses(weights, batch))
            return terms["loss"], terms

        def step(carry, batch):
            weights, state = carry
            gradient, terms = jax.grad(loss, has_aux=True)(weights, batch)
            updates, state = optimiser.update(gradient, state, weights)
            return (optax.apply_updates(weights, updates), state), terms

        (weights, state), terms = jax.lax.scan(step, (weights, state), batches)
        return weights, state, terms

    return _mapped(run)(weights, state, tasks, key_data)


def validate(loop: Loop, weights, tasks: Task, key_data):
    """The terms on the validation tasks, with splits and samples that are the same every time; and
    the loss of each task."""

    def one(weights, tasks, key_data):
        _, key = jax.random.split(jax.random.wrap_key_data(key_data))
        draws = loop.settings.validation_draws
        keys = jax.random.split(key, draws * len(tasks)).reshape(draws, len(tasks))

        def draw(keys):
            return loop.losses(weights, loop.split(tasks, keys))

        # One draw after another: all at once would take as much memory for each.
        terms = (
            jax.lax.map(draw, keys) if draws > 1 else jax.tree.map(lambda x: x[None], draw(keys[0]))
        )
        return jax.tree.map(jnp.mean, terms) | {"losses": terms["loss"].mean(axis=0)}

    return _mapped(one)(weights, tasks, key_data)
