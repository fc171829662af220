"""The one training loop."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi._machinery.compilation import compiled
from lupi._machinery.environment import num_threads
from lupi.data import RaggedTasks, Task
from lupi.errors import UserError
from lupi.models import AbstractProcess
from lupi.objectives import AbstractObjective, Elbo
from lupi.training.best import EpochRow, best_epochs, choose, is_better
from lupi.training.settings import TrainingSettings
from lupi.training.state import Best, TrainingState, begin, is_array, member, stack
from lupi.training.steps import Loop, draw_order, run_steps, validate

Tasks = Task | RaggedTasks

TASKS_AT_ONCE = 2**16
"""Tasks that are on the device at the same time; more are streamed from the host in parts."""

LONGEST = 128
"""Points, at least, up to which series are trained on whole; of longer ones an epoch takes a random
choice of as many, or of twice the largest target or context."""

WORTH_OPTIMISING = 10_000
"""Tasks, over all epochs, from which on a loop is compiled to run fast, not to be ready soon."""


class DivergenceError(UserError):
    """Training broke down: other settings may do better."""


class Fitted(NamedTuple):
    """A trained process and how it got there."""

    process: AbstractProcess
    history: list[EpochRow]


def fit(
    process: AbstractProcess,
    training: Tasks,
    validation: Tasks,
    *,
    settings: TrainingSettings,
    objective: AbstractObjective | Callable = Elbo(),
    on_epoch: Callable[[EpochRow], None] | None = None,
    key: PRNGKeyArray,
) -> Fitted:
    """Train on random context/target splits; `on_epoch` sees each epoch as it ends.

    Every epoch goes once through the training tasks in a new order, each with a new split; a
    remainder smaller than a batch is left out of that epoch. Validation uses the same splits and
    samples at every epoch, so that its curve moves only when the process does. An epoch is one
    compiled call; the result depends on nothing but the arguments.
    """
    (fitted,) = fit_together(
        [process],
        [training],
        [validation],
        settings=settings,
        objective=objective,
        on_epoch=None if on_epoch is None else lambda rows: on_epoch(rows[0]),
        keys=[key],
    )
    return fitted


def fit_together(
    processes: Sequence[AbstractProcess],
    training: Sequence[Tasks],
    validation: Sequence[Tasks],
    *,
    settings: TrainingSettings,
    objective: AbstractObjective | Callable = Elbo(),
    on_epoch: Callable[[list[EpochRow]], None] | None = None,
    keys: Sequence[PRNGKeyArray],
) -> list[Fitted]:
    """Train several processes of one kind in step with each other, in one compiled loop.

    Each has its own weights, tasks and key and becomes what `fit` would have made of it, up to
    rounding; together they take less time than one after another, because steps on networks this
    small are mostly overhead. The tasks of all must have the same shapes.
    """
    state = None
    for state in train_epochs(
        processes, training, validation, settings=settings, objective=objective, keys=keys
    ):
        if on_epoch is not None:
            on_epoch([history[-1] for history in state.histories])
    assert state is not None  # settings have at least one epoch
    return finish(processes, state, settings)


def finish(
    processes: Sequence[AbstractProcess],
    state: TrainingState,
    settings: TrainingSettings,
    *,
    as_one: bool = False,
) -> list[Fitted]:
    """The processes as they are in a state of their training.

    The best weights are kept only where the validation tasks agree that they are better than the
    last, beyond chance: the lowest of many losses on a few tasks is mostly that. As one, the
    processes have many tasks between them, and the best weights are kept in any case.
    """
    _, structure = eqx.partition(stack(processes), is_array)
    weights, best = jax.device_get((state.weights, state.best))
    if settings.keep_best:
        better = np.ones(len(processes), bool) if as_one else is_better(best.losses, best.latest)
        weights = choose(better, weights, best.weights)
    return [
        Fitted(eqx.combine(member(weights, i), structure), history)
        for i, history in enumerate(state.histories)
    ]


def train_epochs(
    processes: Sequence[AbstractProcess],
    training: Sequence[Tasks],
    validation: Sequence[Tasks],
    *,
    settings: TrainingSettings,
    objective: AbstractObjective | Callable = Elbo(),
    judge: AbstractObjective | Callable | None = None,
    as_one: bool = False,
    keys: Sequence[PRNGKeyArray],
    state: TrainingState | None = None,
) -> Iterator[TrainingState]:
    """The states of training after each epoch, of which `fit_together` takes the last.

    Given one of them as `state`, it goes on from there, bit for bit. Validation has the same
    objective, as it is in the end, unless there is another to `judge` by. As one, the processes
    have their best epoch in common: the one of the lowest mean of their validation losses.
    """
    num_tasks = len(training[0])
    if settings.batch_size > num_tasks:
        raise UserError(
            f"batch_size is {settings.batch_size}, but there are {num_tasks} training tasks: "
            "lower batch_size or give more tasks."
        )
    for process, *parts in zip(processes, training, validation, strict=True):
        for name, tasks in zip(("training", "validation"), parts, strict=True):
            _check_tasks(process, tasks, name)
    _, structure = eqx.partition(stack(processes), is_array)
    num_epochs, num_steps = settings.num_epochs(num_tasks), num_tasks // settings.batch_size
    judge = judge or _at(objective, 1.0)
    loop = Loop(structure, objective, settings.of_steps(), num_tasks if settings.decay else 0)
    judging = Loop(structure, judge, settings.of_validation())
    brief = num_steps * num_epochs * settings.batch_size < WORTH_OPTIMISING
    train, check = compiled(run_steps, brief=brief), compiled(validate, brief=brief)
    draw = compiled(draw_order, brief=True)

    if state is None:
        state = begin(processes, settings, num_tasks, len(validation[0]))
    training, validation = jax.device_get(list(training)), jax.device_get(list(validation))
    key_data = np.stack([jax.random.key_data(key) for key in keys])

    def generators(epoch: int) -> list[np.random.Generator]:
        return [np.random.default_rng([*key, epoch]) for key in key_data]

    everyone = [np.arange(len(part)) for part in validation]
    held_out = _take(validation, everyone, settings, generators(0))
    beside = _Halves(as_one and len(processes) % 2 == 0)
    for epoch in range(state.epoch + 1, num_epochs + 1):
        weights, optimiser = state.weights, state.optimiser
        order, task_keys = jax.device_get(draw(key_data, np.array(epoch), num_tasks))
        terms, rngs = [], generators(epoch)
        present = loop._replace(objective=_at(objective, (epoch - 1) / num_epochs))
        for start, stop in _chunks(num_steps, max(1, TASKS_AT_ONCE // settings.batch_size)):
            now = np.s_[:, start * settings.batch_size : stop * settings.batch_size]
            tasks = _take(training, order[now], settings, rngs)
            weights, optimiser, some_terms = beside(
                train, present, (weights, optimiser, tasks, task_keys[now])
            )
            terms.append(jax.device_get(some_terms))
        steps = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *terms)
        found = {f"train_{name}": values.mean(axis=1) for name, values in steps.items()}
        losses = None
        if settings.validates(epoch, num_epochs):
            validated = jax.device_get(beside(check, judging, (weights, held_out, key_data)))
            losses = validated.pop("losses")
            found |= {f"validation_{name}": values for name, values in validated.items()}
        _check_finite(epoch, steps["loss"], found.get("validation_loss"))
        histories = [
            [*history, {"epoch": epoch} | {name: float(v[i]) for name, v in found.items()}]
            for i, history in enumerate(state.histories)
        ]
        best = state.best
        if losses is not None:
            improved = np.array([row["epoch"] == epoch for row in best_epochs(histories, as_one)])
            now = jax.device_get((weights, losses))
            best = Best(*choose(improved, jax.device_get(best[:2]), now), latest=losses)
        state = TrainingState(weights, optimiser, best, histories)
        yield state


class _Halves:
    """Calls on stacked processes: as they are, or one for each half of them, at the same time.

    A step of networks this small keeps one core busy. Which processes go through one program does
    not depend on the machine, as sums are rounded by it.
    """

    def __init__(self, divided: bool):
        self.divided, self.ready = divided, set()

    def __call__(self, run: Callable, loop: Loop, arguments: tuple):
        if not self.divided:
            return run(loop, *arguments)
        half = len(jax.tree.leaves(arguments)[0]) // 2
        parts = [
            jax.tree.map(lambda leaf, some=some: np.asarray(leaf)[some], arguments)
            for some in (slice(half), slice(half, None))
        ]
        # At first one after the other: each thread would compile what both need.
        with ThreadPoolExecutor(num_threads() if run in self.ready else 1) as pool:
            found = list(pool.map(lambda part: jax.device_get(run(loop, *part)), parts))
        self.ready.add(run)
        return jax.tree.map(lambda *halves: np.concatenate(halves), *found)


def _at(objective: AbstractObjective | Callable, share: float) -> AbstractObjective | Callable:
    """An objective after this share of training; a plain function is always the same."""
    return objective.at(share) if isinstance(objective, AbstractObjective) else objective


def _take(
    parts: Sequence[Tasks],
    chosen: Sequence[np.ndarray] | np.ndarray,
    settings: TrainingSettings,
    rngs: Sequence[np.random.Generator],
) -> Task:
    """Of each process's tasks those chosen, stacked."""
    ragged = [part for part in parts if isinstance(part, RaggedTasks)]
    longest = max((int(part.lengths.max()) for part in ragged), default=0)
    length = min(longest, max(LONGEST, 2 * settings.largest_set))
    return stack(
        [
            part.take(i, length=length, rng=rng) if isinstance(part, RaggedTasks) else part[i]
            for part, i, rng in zip(parts, chosen, rngs, strict=True)
        ]
    )


def _check_finite(epoch: int, losses: np.ndarray, validation_losses: np.ndarray | None) -> None:
    """Stop where the loss of a step or of the validation is not a number."""
    failed = ~np.isfinite(losses).all(axis=0)
    if failed.any():
        where = f"in step {int(failed.argmax()) + 1} of epoch {epoch}"
    elif validation_losses is not None and not np.isfinite(validation_losses).all():
        where = f"on the validation tasks after epoch {epoch}"
    else:
        return
    raise DivergenceError(
        f"the loss stopped being a number {where} (the weights diverged, or what they "
        "describe could not be solved): lower learning_rate, or rescale the data."
    )


def _check_tasks(process: AbstractProcess, tasks: Tasks, part: str) -> None:
    sizes = {"observations": process.observation_size, "privileged": process.privileged_size}
    arrived = {
        "observations": tasks.observations.ys.shape[-1],
        "privileged": tasks.privileged.shape[-1],
    }
    for name, size in sizes.items():
        if name == "privileged" and not process.uses_privileged:
            continue
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


def _chunks(total: int, largest: int) -> Iterator[tuple[int, int]]:
    """Cut 0 to `total` into runs of one length, none above `largest`; the last may be shorter."""
    length = math.ceil(total / math.ceil(total / largest))
    for start in range(0, total, length):
        yield start, min(start + length, total)
