"""One run: a task, a model and a seed, from nothing to saved results."""

import time

import jax
import numpy as np

from lupi.experiments.data import make_data
from lupi.experiments.evaluation import draw_contexts, evaluate
from lupi.experiments.memory import give_back_memory
from lupi.experiments.results import FinishedRun, Floor, Metric, Record, RunFolder
from lupi.experiments.settings import RunSettings
from lupi.experiments.tasks import get_task
from lupi.files import write_atomically
from lupi.metrics import Estimate
from lupi.models import build_process, save_process
from lupi.training import EpochRow, fit


def run(folder: RunFolder, settings: RunSettings, *, on_epoch=None) -> FinishedRun:
    """Train and evaluate one model and save all of it in its folder.

    All random numbers come from the seed, each kind from a key of its own, so NoPI and LUPI of
    one seed share data, contexts, splits and the initial weights of the parts they share.
    """
    data_key, context_key, weights_key, fit_key, prediction_key = jax.random.split(
        jax.random.key(folder.seed), 5
    )
    paper_task = get_task(folder.task)
    evaluation = settings.evaluation
    data = make_data(paper_task, settings, key=data_key)
    give_back_memory()

    process_settings = settings.process
    if folder.model == "nopi":
        process_settings = process_settings.model_copy(update={"privileged_size": 0})
    process = build_process(process_settings, key=weights_key)

    started = time.perf_counter()
    history = _HistoryFile(folder, on_epoch)
    process, _ = fit(
        process,
        data.training,
        data.validation,
        settings=settings.training,
        on_epoch=history.add,
        key=fit_key,
    )
    trained = time.perf_counter()
    give_back_memory()
    contexts = draw_contexts(data.test, evaluation, key=context_key)
    evaluations = evaluate(process, data.test, contexts, evaluation, key=prediction_key)
    evaluated = time.perf_counter()

    save_process(folder.model_file, process, process_settings)
    arrays = {
        "times": np.asarray(data.test.observations.ts[0]) * paper_task.horizon,
        "observed": np.asarray(data.test.observations.ys),
        "privileged": np.asarray(data.test.privileged),
        "context": np.asarray(contexts.mask),
    }
    for mode, result in evaluations.items():
        arrays |= {f"{mode}_{name}": array for name, array in result.arrays.items()}
    folder.save_predictions(arrays)

    seconds = {"train": trained - started, "evaluate": evaluated - trained}
    records = [
        Record(
            task=folder.task,
            model=folder.model,
            seed=folder.seed,
            mode=mode,
            metrics={name: _metric(value) for name, value in result.metrics.items()},
            seconds=seconds,
        )
        for mode, result in evaluations.items()
    ]
    finished = FinishedRun(
        records=records,
        floor=Floor(task=folder.task, seed=folder.seed, mse=_metric(data.floor)),
    )
    write_atomically(folder.finished_file, finished.model_dump_json(indent=1))
    return finished


def _metric(value: Estimate) -> Metric:
    return Metric(mean=value.mean, stderr=value.stderr)


class _HistoryFile:
    """Appends each epoch to the history as it ends: whoever watches sees how far the run is."""

    def __init__(self, folder: RunFolder, on_epoch):
        self.path = folder.history_file
        self.on_epoch = on_epoch

    def add(self, row: EpochRow) -> None:
        if self.on_epoch is not None:
            self.on_epoch(row)
        if row["epoch"] == 1:
            write_atomically(self.path, ",".join(row) + "\n")
        with self.path.open("a") as file:
            file.write(",".join(f"{value:.6g}" for value in row.values()) + "\n")
