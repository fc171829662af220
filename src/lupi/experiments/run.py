"""Runs of one task and one model, from nothing to saved results."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi.experiments.data import make_data
from lupi.experiments.evaluation import draw_contexts, evaluate
from lupi.experiments.memory import give_back_memory
from lupi.experiments.results import FinishedRun, Floor, Metric, Record, RunFolder
from lupi.experiments.settings import RunSettings
from lupi.experiments.tasks import get_task
from lupi.files import write_atomically
from lupi.metrics import Estimate
from lupi.models import build_process, save_process
from lupi.training import EpochRow, fit_together


def run(
    folders: Sequence[RunFolder],
    settings: RunSettings,
    *,
    on_epoch: Callable[[], None] = lambda: None,
) -> list[FinishedRun]:
    """Train one model for several seeds, together, and evaluate and save each in its folder.

    All random numbers of a run come from its seed, each kind from a key of its own, so NoPI and
    LUPI of one seed share data, contexts, splits and the initial weights of the parts they share.
    """
    task, model = folders[0].task, folders[0].model
    paper_task, evaluation = get_task(task), settings.evaluation
    keys = [_Keys(*jax.random.split(jax.random.key(folder.seed), 5)) for folder in folders]
    data = [make_data(paper_task, settings, key=key.data) for key in keys]
    give_back_memory()

    process_settings = settings.process
    if model == "nopi":
        process_settings = process_settings.model_copy(update={"privileged_size": 0})

    def add_rows(rows: list[EpochRow]) -> None:
        for folder, row in zip(folders, rows, strict=True):
            _add_to_history(folder, row)
        on_epoch()

    started = time.perf_counter()
    fitted = fit_together(
        [build_process(process_settings, key=key.weights) for key in keys],
        [part.training for part in data],
        [part.validation for part in data],
        settings=settings.training,
        on_epoch=add_rows,
        keys=[key.fit for key in keys],
    )
    train_seconds = (time.perf_counter() - started) / len(folders)
    give_back_memory()

    finished = []
    for folder, part, key, (process, _) in zip(folders, data, keys, fitted, strict=True):
        started = time.perf_counter()
        contexts = draw_contexts(part.test, evaluation, key=key.contexts)
        evaluations = evaluate(process, part.test, contexts, evaluation, key=key.prediction)
        seconds = {"train": train_seconds, "evaluate": time.perf_counter() - started}

        save_process(folder.model_file, process, process_settings)
        arrays = {
            "times": np.asarray(part.test.observations.ts[0]) * paper_task.horizon,
            "observed": np.asarray(part.test.observations.ys),
            "privileged": np.asarray(part.test.privileged),
            "context": np.asarray(contexts.mask),
        }
        for mode, result in evaluations.items():
            arrays |= {f"{mode}_{name}": array for name, array in result.arrays.items()}
        folder.save_predictions(arrays)
        records = [
            Record(
                task=task,
                model=model,
                seed=folder.seed,
                mode=mode,
                metrics={name: _metric(value) for name, value in result.metrics.items()},
                seconds=seconds,
            )
            for mode, result in evaluations.items()
        ]
        floor = Floor(task=task, seed=folder.seed, mse=_metric(part.floor))
        finished.append(FinishedRun(records=records, floor=floor))
        write_atomically(folder.finished_file, finished[-1].model_dump_json(indent=1))
    return finished


class _Keys(NamedTuple):
    """Of the random numbers of one run, each kind apart."""

    data: PRNGKeyArray
    contexts: PRNGKeyArray
    weights: PRNGKeyArray
    fit: PRNGKeyArray
    prediction: PRNGKeyArray


def _metric(value: Estimate) -> Metric:
    return Metric(mean=value.mean, stderr=value.stderr)


def _add_to_history(folder: RunFolder, row: EpochRow) -> None:
    """Write an epoch as it ends: whoever watches sees how far the run is."""
    if row["epoch"] == 1:
        write_atomically(folder.history_file, ",".join(row) + "\n")
    with folder.history_file.open("a") as file:
        file.write(",".join(f"{value:.6g}" for value in row.values()) + "\n")
