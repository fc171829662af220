"""From a table to networks that have learnt from it, and to what can be said of them."""

import os
import platform
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from lupi._machinery.environment import num_threads
from lupi._machinery.stopping import saved_if_stopped
from lupi.blending import Blending, Judged, OutOfFold, fit_blending
from lupi.data.held_out import Divided, leave_out_in_turns
from lupi.data.normalisation import Normalisation, to_tasks
from lupi.data.problems import listed
from lupi.data.ragged import RaggedTasks
from lupi.data.series_table import SeriesTable
from lupi.distributions import NormalMixture
from lupi.errors import UserError, UserNotice
from lupi.forecasting.digests import digest_series
from lupi.forecasting.fitted import NETWORKS, Fitted, Member, Part
from lupi.forecasting.positive import find_positive, with_positive
from lupi.forecasting.progress import say, show_epochs, show_waiting
from lupi.forecasting.settings import ForecasterSettings
from lupi.inference.family import some_tasks
from lupi.models import AbstractProcess, build_process
from lupi.objectives import Predictive
from lupi.plain import PLAIN
from lupi.preparation import prepare_together
from lupi.training import EpochRow, TrainingSettings, TrainingState, begin, finish, train_epochs
from lupi.training.best import best_epochs, is_stale
from lupi.training.checkpoint import load_checkpoint, save_checkpoint

SECONDS_BETWEEN_CHECKPOINTS = 10.0

PATIENCE = 10
"""Validations without a better one after which several networks stop learning."""

MOST_VALIDATED = 32
"""Series of each network that tell when to stop."""

MOST_SERIES = 512
"""That plain guesses are made from."""


class Learned(NamedTuple):
    """What training came to."""

    fitted: Fitted
    stopped_by: BaseException | None
    """Before the end, if anything did."""


def learn(
    series: SeriesTable,
    settings: ForecasterSettings,
    *,
    seed: int,
    checkpoint: str | os.PathLike | None,
    on_epoch: Callable[[EpochRow], None] | None,
    progress: bool,
) -> Learned:
    """Train the members, each on other series; those it left out tell what it is worth."""
    started = time.monotonic()
    identity, given, found_positive = identity_of(series, settings, seed=seed), series, []
    if settings.find_positive:
        with show_waiting("Looking at positive columns") if progress else nullcontext():
            found_positive = find_positive(series, seed=seed)
        series = with_positive(series, found_positive)
        for one in found_positive if progress else ():
            say(f"{one} find_positive=False takes it as it is.")
    number = settings.num_members(len(series))
    size = settings.num_left_out(len(series))
    divided = leave_out_in_turns(series, number, size, rng=np.random.default_rng(seed))
    training = _alike([one.training for one in divided])
    held_out = _alike([one.held_out[0] for one in divided])
    gaps = training[0].observations.gaps is not None
    root = jax.random.key(seed)
    build_key, fit_key = jax.random.split(root)
    # The first member is the only one of a forecaster that has one.
    keys = [(build_key, fit_key)]
    keys += [tuple(jax.random.split(jax.random.fold_in(root, 100 + i))) for i in range(1, number)]
    processes = [
        build_process(
            settings.process,
            observation_size=len(series.columns.observed),
            privileged_size=settings.privileged_size(len(series.columns.privileged)),
            input_size=len(divided[0].normalisation.known_mean),
            key=key,
        )
        for key, _ in keys
    ]
    train = settings.train.suited_to(len(training[0]), len(training[0].observations.ts), number)
    run = _Run(processes, training, _to_validate(held_out), train, settings, checkpoint, identity)
    with show_epochs(train.num_epochs(len(training[0]))) if progress else nullcontext() as show:
        watchers = [watch for watch in (show, on_epoch) if watch is not None]
        state, stopped_by = run.train([key for _, key in keys], watchers)
    fitted = finish(processes, state, train, as_one=number > 1)
    waiting = show_waiting("Looking at series that were left out")
    with waiting if progress else nullcontext():
        families = prepare_together(
            [one.process for one in fitted],
            settings.inference,
            training,
            held_out,
            roughly=settings.blend,
            key=jax.random.fold_in(root, 1),
        )
        members = [
            Member(one.process, family, part.normalisation)
            for one, family, part in zip(fitted, families, divided, strict=True)
        ]
        common = Normalisation.of(series) if number > 1 else divided[0].normalisation
        blending, parts = None, {}
        if settings.blend:
            blending = _blend(settings, members, divided, held_out, common, root)
            everyone = some_tasks(to_tasks(series, common), MOST_SERIES, 0)
            parts = {
                name: Part(
                    None if name == NETWORKS else PLAIN[name].of(everyone),
                    weight,
                    blending.shares[name],
                    blending.calibrations[name],
                    blending.correction if name == NETWORKS else None,
                )
                for name, weight in blending.weights.items()
            }
    best = best_epochs([one.history for one in fitted], number > 1)
    provenance = {
        "data": {"fingerprint": identity["data"], "series": len(series), "gaps": gaps}
        | {"digests": digest_series(given)},
        "seed": seed,
        "versions": identity["versions"],
        "python": platform.python_version(),
        "seconds": time.monotonic() - started,
        "epochs": state.epoch,
        "interrupted": stopped_by is not None,
        "best_epoch": best[0]["epoch"],
        "validation": {
            name: float(np.mean([row[name] for row in best]))
            for name in best[0]
            if name.startswith("validation_")
        },
    }
    if found_positive:
        provenance["positive"] = [one.column for one in found_positive]
    if blending is not None:
        provenance |= _told(blending, series)
    whole = None if blending is None else blending.whole
    found = Fitted(settings, members, common, series.columns, provenance, parts, whole)
    return Learned(found, stopped_by)


def identity_of(series: SeriesTable, settings: ForecasterSettings, *, seed: int) -> dict[str, Any]:
    """What is trained on what: the same again comes to the same, ready to be JSON."""
    return {
        "settings": settings.model_dump(mode="json"),
        "data": series.fingerprint(),
        "seed": seed,
        # Another version may round otherwise, and the result would be that of neither.
        "versions": {"lupi": version("lupi"), "jax": version("jax")},
    }


def _blend(
    settings: ForecasterSettings,
    members: Sequence[Member],
    divided: Sequence[Divided],
    held_out: Sequence[RaggedTasks],
    common: Normalisation,
    root,
) -> Blending:
    """What members and plain guesses, each without the series it is asked about, say to it."""
    key = jax.random.fold_in(root, 2)
    folds = OutOfFold.of(divided, common, held_out=held_out, key=key)
    networks = [settings.predictor(*one[:2]) for one in members]
    how: dict[str, Any] = {"brief": False, "threads": num_threads()}
    answers = folds.answers(networks, at_points=True, **how)
    seen = [some_tasks(part.training, MOST_SERIES, 0) for part in divided]
    plain = {
        name: folds.answers([kind.of(tasks) for tasks in seen]) for name, kind in PLAIN.items()
    }
    return fit_blending(folds, answers, in_numbers(plain), NETWORKS)


def in_numbers(answers: dict[str, NormalMixture]) -> dict[str, NormalMixture]:
    """Those that are finite throughout: one guess that is not would make all of a blend so, and
    that would show when the forecaster is saved, after hours."""
    lost = [
        name
        for name, some in answers.items()
        if not (np.isfinite(some.means).all() and np.isfinite(some.scales).all())
    ]
    if lost:
        warnings.warn(
            f"{listed(lost)}: forecasts of series that were left out are not finite numbers, so it "
            "has no part in this forecaster.",
            UserNotice,
            stacklevel=2,
        )
    return {name: some for name, some in answers.items() if name not in lost}


def _told(blending: Blending, series: SeriesTable) -> dict[str, Any]:
    """What is kept of how everything did on series that it had not seen."""

    def one(judged: Judged) -> dict[str, Any]:
        return {
            "rmse": dict(zip(series.columns.observed, judged.rmse, strict=True)),
            "coverage_90": judged.coverage_90,
            "log_likelihood": judged.log_likelihood,
            "crps": judged.crps,
        }

    return {
        "out_of_fold": {name: one(judged) for name, judged in blending.judged.items()},
        "weights": blending.weights,
    }


def _alike(tasks: list[RaggedTasks]) -> list[RaggedTasks]:
    """The same, with an array of gaps in all of them where there is one in any."""
    if all(one.observations.gaps is None for one in tasks):
        return tasks

    def with_gaps(one: RaggedTasks) -> RaggedTasks:
        if one.observations.gaps is not None:
            return one
        none = np.zeros(one.observations.ys.shape, bool)
        return eqx.tree_at(
            lambda one: one.observations.gaps, one, none, is_leaf=lambda leaf: leaf is None
        )

    return [with_gaps(one) for one in tasks]


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
            judge=Predictive() if self.settings.blend else None,
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
