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
from lupi.blending import Blending, Judged, OutOfFold, fit_blending
from lupi.data.held_out import Divided, leave_out_in_turns
from lupi.data.normalisation import Normalisation, to_tasks
from lupi.data.problems import listed
from lupi.data.ragged import RaggedTasks
from lupi.data.series_table import SeriesTable
from lupi.distributions import NormalMixture
from lupi.errors import UserNotice
from lupi.forecasting.digests import digest_series
from lupi.forecasting.fitted import NETWORKS, Fitted, Member, Part
from lupi.forecasting.networks import Lessons, train_networks
from lupi.forecasting.positive import find_positive, with_positive
from lupi.forecasting.progress import say, show_waiting
from lupi.forecasting.settings import ForecasterSettings
from lupi.inference.family import some_tasks
from lupi.plain import PLAIN
from lupi.preparation import prepare_together
from lupi.training import EpochRow

MOST_SERIES = 512
"""That plain guesses are made from."""


class Learned(NamedTuple):
    """What training came to."""

    fitted: Fitted
    settings: ForecasterSettings
    stopped_by: BaseException | None
    """Before the end, if anything did."""
    crps: float
    """On series left out: of the forecaster, or of networks that are not blended as they train."""


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
    lessons = Lessons(
        training,
        held_out,
        {
            "observation_size": len(series.columns.observed),
            "privileged_size": settings.privileged_size(len(series.columns.privileged)),
            "input_size": len(divided[0].normalisation.known_mean),
        },
    )
    networks = train_networks(
        settings,
        lessons,
        root=root,
        checkpoint=checkpoint,
        identity=identity,
        on_epoch=on_epoch,
        progress=progress,
    )
    fitted = networks.fitted
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
    best = networks.best
    provenance = {
        "data": {"fingerprint": identity["data"], "series": len(series), "gaps": gaps}
        | {"digests": digest_series(given)},
        "seed": seed,
        "versions": identity["versions"],
        "python": platform.python_version(),
        "seconds": time.monotonic() - started,
        "epochs": networks.epochs,
        "interrupted": networks.stopped_by is not None,
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
    crps = networks.loss if blending is None else blending.judged["blend"].crps
    return Learned(found, settings, networks.stopped_by, crps)


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
