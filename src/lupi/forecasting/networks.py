"""Networks that learn from one table, each from other series of it."""

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import numpy as np

from lupi._machinery.stopping import saved_if_stopped
from lupi.data.ragged import RaggedTasks
from lupi.errors import UserError
from lupi.forecasting.progress import show_epochs
from lupi.forecasting.settings import ForecasterSettings
from lupi.models import AbstractProcess, build_process
from lupi.objectives import Predictive
from lupi.training import (
    EpochRow,
    Fitted,
    TrainingSettings,
    TrainingState,
    begin,
    finish,
    train_epochs,
)
from lupi.training.best import best_epochs, is_stale
from lupi.training.checkpoint import load_checkpoint, save_checkpoint

SECONDS_BETWEEN_CHECKPOINTS = 10.0

PATIENCE = 10
"""Validations without a better one after which several networks stop learning."""

MOST_VALIDATED = 32
"""Series of each network that tell when to stop."""


class Lessons(NamedTuple):
    """What each network is trained on, what it is not, and the sizes that it must have."""

    training: list[RaggedTasks]
    held_out: list[RaggedTasks]
    sizes: dict[str, int]


class TrainedNetworks(NamedTuple):
    """What training came to."""

    fitted: list[Fitted]
    epochs: int
    stopped_by: BaseException | None
    """Before the end, if anything did."""

    @property
    def best(self) -> list[EpochRow]:
        """The epoch of each network that was taken."""
        return best_epochs([one.history for one in self.fitted], len(self.fitted) > 1)

    @property
    def loss(self) -> float:
        """The lowest validation loss, over the networks."""
        return float(np.mean([row["validation_loss"] for row in self.best]))


def train_networks(
    settings: ForecasterSettings,
    lessons: Lessons,
    *,
    root: jax.Array,
    checkpoint: str | os.PathLike | None,
    identity: dict[str, Any],
    on_epoch: Callable[[EpochRow], None] | None,
    progress: bool,
) -> TrainedNetworks:
    """Train one network for each lesson, all of them together."""
    training, number = lessons.training, len(lessons.training)
    build_key, fit_key = jax.random.split(root)
    # The first network is the only one of a forecaster that has one.
    keys = [(build_key, fit_key)]
    keys += [tuple(jax.random.split(jax.random.fold_in(root, 100 + i))) for i in range(1, number)]
    processes = [build_process(settings.process, **lessons.sizes, key=key) for key, _ in keys]
    train = settings.train.suited_to(len(training[0]), len(training[0].observations.ts), number)
    run = _Run(
        processes, training, _to_validate(lessons.held_out), train, settings, checkpoint, identity
    )
    with show_epochs(train.num_epochs(len(training[0]))) if progress else nullcontext() as show:
        watchers = [watch for watch in (show, on_epoch) if watch is not None]
        state, stopped_by = run.train([key for _, key in keys], watchers)
    fitted = finish(processes, state, train, as_one=number > 1)
    return TrainedNetworks(fitted, state.epoch, stopped_by)


def _to_validate(tasks: list[RaggedTasks]) -> list[RaggedTasks]:
    """As many of each as there are of the fewest; of several networks no more than needed."""
    if len(tasks) == 1:
        return tasks
    number, rng = min(MOST_VALIDATED, *map(len, tasks)), np.random.default_rng(0)
    return [one.only(np.sort(rng.permutation(len(one))[:number])) for one in tasks]


class _Run(NamedTuple):
    """All that training needs to know, wherever it stands."""

    processes: list[AbstractProcess]
    training: list[RaggedTasks]
    validation: list[RaggedTasks]
    train_settings: TrainingSettings
    settings: ForecasterSettings
    checkpoint: str | os.PathLike | None
    identity: dict[str, Any]

    def _is_over(self, state: TrainingState) -> bool:
        """Whether several networks have learnt what they can."""
        return len(self.processes) > 1 and is_stale(state.histories, patience=PATIENCE)

    def train(self, keys, watchers) -> tuple[TrainingState, BaseException | None]:
        """The last good state of training, and what stopped it before the end, if anything."""
        state, saved, path = None, time.monotonic(), self.checkpoint
        settings = self.train_settings
        if path is not None:
            like = begin(self.processes, settings, len(self.training[0]), len(self.validation[0]))
            state = load_checkpoint(path, like, identity=self.identity)
        if state is not None and self._is_over(state):
            return state, None
        epochs = train_epochs(
            self.processes,
            self.training,
            self.validation,
            settings=settings,
            objective=self.settings.objective,
            judge=Predictive() if self.settings.blend or self.settings.choose else None,
            as_one=len(self.processes) > 1,
            keys=keys,
            state=state,
        )

        def save() -> None:
            if path is not None and state is not None:
                save_checkpoint(path, state, identity=self.identity)

        try:
            with saved_if_stopped(save):
                for state in epochs:
                    for watch in watchers:
                        watch(_mean_row(state.histories))
                    if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                        save()
                        saved = time.monotonic()
                    if self._is_over(state):
                        break
            save()
        except (KeyboardInterrupt, UserError) as stopped_by:
            if state is None:
                raise
            save()
            return state, stopped_by
        assert state is not None  # there is at least one epoch
        return state, None


def _mean_row(histories: list[list[EpochRow]]) -> EpochRow:
    """The last epoch, over the members."""
    rows = [history[-1] for history in histories]
    if len(rows) == 1:
        return rows[0]
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return means | {"epoch": rows[0]["epoch"]}
