"""Runs of one experiment and one model, from nothing to saved results."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi._machinery.files import write_atomically
from lupi._machinery.memory import give_back_memory
from lupi.data import Observations, RaggedTasks, Task
from lupi.evaluation import Scores, draw_contexts, evaluate_tasks, judge_recovered, regret
from lupi.experiments.experiment import Experiment
from lupi.experiments.paper import get_experiment
from lupi.experiments.results import FinishedRun, Floor, Metric, Record, RunFolder
from lupi.experiments.settings import EvaluationSettings, RunSettings
from lupi.experiments.systems import RunData, make_data, make_lessons
from lupi.metrics import Estimate, spread_pit
from lupi.models import build_process, save_process
from lupi.preparation import prepare
from lupi.registry import ModelSettings
from lupi.training import EpochRow, fit_together

SEEDS_TOGETHER = 3
"""Seeds of one experiment and model that are trained in one loop; more gain little per seed."""


def seeds_beside(seed: int) -> list[int]:
    """The seeds that train in one loop with this one, whichever of them are asked for or finished.

    How many there are decides how sums are rounded, and training makes much of that.
    """
    first = seed - seed % SEEDS_TOGETHER
    return list(range(first, first + SEEDS_TOGETHER))


def run(
    folders: Sequence[RunFolder],
    settings: RunSettings,
    model: ModelSettings,
    experiment: Experiment | None = None,
    *,
    on_epoch: Callable[[], None] = lambda: None,
) -> list[FinishedRun]:
    """Train one model for several seeds, together, and evaluate and save each in its folder.

    The seeds are some of those that train in one loop (`seeds_beside`); all of these are trained,
    so that the numbers of one do not depend on which of the others are asked for. All random
    numbers of a run come from its seed, each kind from a key of its own, so models of one seed
    share data, contexts, splits and the initial weights of the parts they share. Without an
    `experiment` it is the paper's that the folders are named after.
    """
    experiment = experiment or get_experiment(folders[0].experiment)
    beside = {
        seed: _Lesson.of(experiment, settings, seed) for seed in seeds_beside(folders[0].seed)
    }
    give_back_memory()
    if len({lesson.shapes for lesson in beside.values()}) == 1:
        return _run_together(folders, beside, settings, model, on_epoch)
    return [
        finished
        for folder in folders
        for finished in _run_together(
            [folder], {folder.seed: beside[folder.seed]}, settings, model, on_epoch
        )
    ]


def _run_together(
    folders: Sequence[RunFolder],
    beside: Mapping[int, "_Lesson"],
    settings: RunSettings,
    model: ModelSettings,
    on_epoch: Callable[[], None],
) -> list[FinishedRun]:
    """Train on all lessons, by their seeds, in one loop; evaluate and save those of the folders."""
    lessons, evaluation = list(beside.values()), settings.evaluation
    seen = lessons[0].data.test.observations
    sizes = {
        "observation_size": seen.ys.shape[-1],
        "privileged_size": model.privileged_size(lessons[0].data.test.privileged.shape[-1]),
        "input_size": 0 if seen.inputs is None else seen.inputs.values.shape[-1],
    }

    def add_rows(rows: list[EpochRow]) -> None:
        by_seed = dict(zip(beside, rows, strict=True))
        for folder in folders:
            _add_to_history(folder, by_seed[folder.seed])
        on_epoch()

    started = time.perf_counter()
    fitted = fit_together(
        [build_process(model.process, **sizes, key=lesson.keys.weights) for lesson in lessons],
        [lesson.tasks for lesson in lessons],
        [lesson.data.validation for lesson in lessons],
        settings=settings.training,
        objective=model.objective,
        on_epoch=add_rows,
        keys=[lesson.keys.fit for lesson in lessons],
    )
    trained = dict(zip(beside, fitted, strict=True))
    train_seconds = (time.perf_counter() - started) / len(lessons)
    give_back_memory()

    finished = []
    for folder in folders:
        process, (key, part, _) = trained[folder.seed].process, beside[folder.seed]
        started = time.perf_counter()
        family = prepare(
            process, model.inference, part.training, part.validation, key=key.prediction
        )
        seconds = {"train": train_seconds, "prepare": time.perf_counter() - started}
        started = time.perf_counter()
        seen = part.test.observations
        contexts = draw_contexts(seen, evaluation.context_sizes, key=key.contexts)
        evaluations = evaluate_tasks(
            model.predictor(process, family),
            part.test,
            contexts,
            num_samples=evaluation.num_samples,
            process=process,
            key=key.prediction,
        )
        lost = _lost(part, contexts, evaluations["test"].scores, evaluation, key.prediction)
        seconds["evaluate"] = time.perf_counter() - started

        save_process(folder.model_file, process, model.process)
        arrays = {
            "times": part.times,
            "observed": seen.ys,
            "privileged": part.test.privileged,
            "context": contexts.mask,
        }
        if not seen.known.all():
            arrays["known"] = np.broadcast_to(seen.known, seen.ys.shape)
        for mode, (_, prediction) in evaluations.items():
            spread = prediction.spread
            pit = spread_pit(spread, seen.ys)
            arrays |= {f"{mode}_mean": spread.loc, f"{mode}_std": spread.scale, f"{mode}_pit": pit}
        folder.save_predictions(arrays)
        records = [
            Record(
                experiment=folder.experiment,
                model=folder.model,
                seed=folder.seed,
                mode=mode,
                metrics={
                    name: _metric(value)
                    for name, value in (
                        scores.overall()
                        | judge_recovered(prediction.findings, part.test)
                        | (lost if mode == "test" else {})
                    ).items()
                },
                seconds=seconds,
            )
            for mode, (scores, prediction) in evaluations.items()
        ]
        floor = Floor(experiment=folder.experiment, seed=folder.seed, mse=_metric(part.floor))
        finished.append(FinishedRun(records=records, floor=floor))
        folder.finish(finished[-1])
    return finished


def _lost(
    data: RunData,
    contexts: Observations,
    scores: Scores,
    evaluation: EvaluationSettings,
    key: PRNGKeyArray,
) -> dict[str, Estimate]:
    """What a model falls short of the ideal observer, where there is one."""
    if data.ideal is None:
        return {}
    number = evaluation.num_samples
    ideal = evaluate_tasks(data.ideal, data.test, contexts, num_samples=number, key=key)["test"]
    found = regret(scores, ideal.scores)
    return {"regret_log_likelihood": found.log_likelihood, "crps_over_ideal": found.crps_ratio}


class _Keys(NamedTuple):
    """Of the random numbers of one run, each kind apart."""

    data: PRNGKeyArray
    contexts: PRNGKeyArray
    weights: PRNGKeyArray
    fit: PRNGKeyArray
    prediction: PRNGKeyArray


class _Lesson(NamedTuple):
    """What one seed learns from."""

    keys: _Keys
    data: RunData
    tasks: Task | RaggedTasks

    @classmethod
    def of(cls, experiment: Experiment, settings: RunSettings, seed: int) -> "_Lesson":
        keys = _Keys(*jax.random.split(jax.random.key(seed), 5))
        data = make_data(experiment, settings, key=keys.data)
        return cls(keys, data, make_lessons(data, settings, key=keys.data))

    @property
    def shapes(self) -> tuple:
        """What two must agree in to be learnt in one loop.

        Those on a table may not: a series held out may lie outside of all others, and gaps are few.
        Nor need simulated ones that are smooth in one run and not in another.
        """
        validation = self.data.validation
        gaps = (part.observations.gaps is None for part in (self.tasks, validation))
        padded = () if isinstance(self.tasks, RaggedTasks) else self.tasks.observations.ts.shape
        return len(validation), *gaps, *padded


def _metric(value: Estimate) -> Metric:
    return Metric(mean=value.mean, stderr=value.stderr)


def _add_to_history(folder: RunFolder, row: EpochRow) -> None:
    """Write an epoch as it ends: whoever watches sees how far the run is."""
    if row["epoch"] == 1:
        write_atomically(folder.history_file, ",".join(row) + "\n")
    with folder.history_file.open("r+") as file:
        names = file.readline().strip().split(",")
        file.seek(0, 2)
        values = (f"{row[name]:.6g}" if name in row else "" for name in names)
        file.write(",".join(values) + "\n")
