"""How a run is judged, in every way that its settings ask for, and what it leaves behind."""

import time
from collections.abc import Mapping
from itertools import pairwise

import jax
import numpy as np

from lupi.data import Observations, Task
from lupi.errors import UserError
from lupi.evaluation import (
    Evaluation,
    average,
    draw_contexts,
    evaluate_tasks,
    judge_recovered,
    regret,
    score_points,
)
from lupi.experiments.experiment import Experiment
from lupi.experiments.lessons import Lesson
from lupi.experiments.modes import REFINED, beyond_mode, points_mode, shift_mode
from lupi.experiments.results import FinishedRun, Floor, Metric, Record, RunFolder
from lupi.experiments.settings import RunSettings
from lupi.experiments.systems import make_shifted
from lupi.inference.surprise import STRANGE
from lupi.metrics import Estimate, estimate, spread_pit
from lupi.models import AbstractPredictor, AbstractProcess, Prediction
from lupi.prediction import horizon_of, predict_many

FIRST_THIRD = (0.0, 1 / 3)
"""Of the time of a system: where the points are seen that are forecast from far ahead."""


def judge(
    folder: RunFolder,
    predictors: Mapping[str, AbstractPredictor],
    lesson: Lesson,
    settings: RunSettings,
    experiment: Experiment,
    *,
    process: AbstractProcess | None = None,
    more: Mapping[str, int] | None = None,
    seconds: Mapping[str, float],
) -> FinishedRun:
    """Judge the predictors of one run, by what their modes end in, and save it all but the model.

    The first is the model's own. Of a `process` there is the training setting too. `more` are
    numbers that stand beside the metrics.
    """
    evaluation, (keys, data, _) = settings.evaluation, lesson
    started = time.perf_counter()
    seen = data.test.observations
    contexts = draw_contexts(seen, evaluation.context_sizes, key=keys.contexts)
    evaluations: dict[str, Evaluation] = {}
    for end, predictor in predictors.items():
        found = evaluate_tasks(
            predictor,
            data.test,
            contexts,
            num_samples=evaluation.num_samples,
            process=process if end == "" else None,
            key=keys.prediction,
        )
        evaluations |= {mode + end: one for mode, one in found.items()}
    for end in predictors:
        _check_finite(folder, end, evaluations["test" + end])
    lost = _lost(lesson, contexts, evaluations["test"], settings)
    took = {**seconds, "evaluate": time.perf_counter() - started}
    metrics = {}
    for mode, (scores, prediction) in evaluations.items():
        metrics[mode] = scores.overall() | judge_recovered(prediction.findings, data.test)
        metrics[mode] |= lost if mode == "test" else {}
        if mode.startswith("test"):
            metrics[mode] |= {
                name: Estimate(float(value), None) for name, value in (more or {}).items()
            }
    took_each = dict.fromkeys(metrics, took)
    for end, predictor in predictors.items():
        for mode, found, predicting in _other_modes(predictor, lesson, settings, experiment):
            metrics[mode + end], took_each[mode + end] = found, {"predict": predicting}

    _save(folder, lesson, contexts, evaluations)
    records = [
        Record(
            experiment=folder.experiment,
            model=folder.model,
            seed=folder.seed,
            mode=mode,
            metrics={
                name: Metric(mean=value.mean, stderr=value.stderr)
                for name, value in found.items()
                if np.isfinite([value.mean, value.stderr or 0.0]).all()
            },
            seconds=took_each[mode],
        )
        for mode, found in metrics.items()
    ]
    mse = Metric(mean=data.floor.mean, stderr=data.floor.stderr)
    floor = Floor(experiment=folder.experiment, seed=folder.seed, mse=mse)
    finished = FinishedRun(records=records, floor=floor)
    folder.finish(finished)
    return finished


def _check_finite(folder: RunFolder, end: str, found: Evaluation) -> None:
    errors = found.scores.by_series()["crps"][found.scores.number.sum(axis=1) > 0]
    if not np.isfinite(errors).all():
        how, other = "", ""
        if end == REFINED:
            how, other = " with the search", f", judge it without ({folder.model}:amortised)"
        raise UserError(
            f"forecasts of {folder.model}{how} on {folder.experiment}, seed {folder.seed}, are not "
            f"finite for {int((~np.isfinite(errors)).sum())} of {len(errors)} test systems: train "
            f"it otherwise, such as with a smaller learning rate{other}, or leave it out."
        )


def _other_modes(
    predictor: AbstractPredictor, lesson: Lesson, settings: RunSettings, experiment: Experiment
):
    """What a predictor scores from other numbers of points, far ahead, and on other systems; with
    the seconds that one forecast took."""
    evaluation, (keys, data, _) = settings.evaluation, lesson

    def asked(tasks: Task, sizes, number: int, window=(0.0, 1.0)):
        key = jax.random.fold_in(keys.contexts, number)
        contexts = draw_contexts(tasks.observations, sizes, window=window, key=key)
        started = time.perf_counter()
        prediction = predict_many(
            predictor,
            contexts,
            tasks.observations.ts,
            num_samples=evaluation.num_samples,
            horizon=horizon_of(tasks.observations.ts),
            keys=jax.random.split(keys.prediction, len(tasks)),
        )
        predicting = (time.perf_counter() - started) / len(tasks)
        seen = tasks.observations
        known = np.broadcast_to(seen.known, seen.ys.shape)
        return contexts, prediction, score_points(prediction, seen.ys, known), known, predicting

    longest = int(data.test.observations.mask.sum(axis=1).max())
    for number in (one for one in evaluation.points if one < longest):
        _, _, points, known, predicting = asked(data.test, (number, number), number + 1)
        yield points_mode(number), average(points, known), predicting
    if evaluation.beyond:
        contexts, _, points, known, predicting = asked(
            data.test, evaluation.context_sizes, 1001, FIRST_THIRD
        )
        last = np.where(contexts.mask, contexts.ts, 0.0).max(axis=1, keepdims=True)
        after = (data.test.observations.ts - last)[..., None]
        for above, most in pairwise(evaluation.beyond):
            found = average(points, known & (after > above) & (after <= most))
            if found:
                yield beyond_mode(above, most), found, predicting
    for place, (name, shift) in enumerate(experiment.shifts.items()):
        key = jax.random.fold_in(keys.data, place)
        tasks = make_shifted(experiment, shift, settings, key=key)
        contexts, prediction, points, known, predicting = asked(
            tasks, evaluation.context_sizes, 1002, shift.window
        )
        later = known & (tasks.observations.ts > 1)[..., None] if shift.horizons > 1 else known
        found = average(points, later) | _surprised(prediction)
        yield shift_mode(name), found, predicting


def _surprised(prediction: Prediction) -> dict[str, Estimate]:
    """Which share of the systems is called strangers, where it can be told."""
    findings = prediction.findings
    if findings is None or not np.isfinite(np.asarray(findings.surprise)).all():
        return {}
    return {"strangers": estimate(np.asarray(findings.surprise) < STRANGE)}


def _lost(
    lesson: Lesson, contexts: Observations, found: Evaluation, settings: RunSettings
) -> dict[str, Estimate]:
    """What a model falls short of the ideal observer, where there is noise to be ideal about.

    In a comparison the ideal observer takes part itself, and is asked once.
    """
    ideal, evaluation = lesson.data.ideal, settings.evaluation
    if ideal is None or settings.data.noise == 0 or evaluation.points:
        return {}
    best = evaluate_tasks(
        ideal(),
        lesson.data.test,
        contexts,
        num_samples=evaluation.num_samples,
        key=lesson.keys.prediction,
    )["test"]
    lost = regret(found.scores, best.scores)
    return {"regret_log_likelihood": lost.log_likelihood, "crps_over_ideal": lost.crps_ratio}


def _save(
    folder: RunFolder, lesson: Lesson, contexts: Observations, evaluations: dict[str, Evaluation]
) -> None:
    data, seen = lesson.data, lesson.data.test.observations
    arrays = {
        "times": data.times,
        "observed": seen.ys,
        "privileged": data.test.privileged,
        "context": contexts.mask,
    }
    if not seen.known.all():
        arrays["known"] = np.broadcast_to(seen.known, seen.ys.shape)
    for mode, (scores, prediction) in evaluations.items():
        spread = prediction.spread
        pit = spread_pit(spread, seen.ys)
        arrays |= {f"{mode}_mean": spread.loc, f"{mode}_std": spread.scale, f"{mode}_pit": pit}
        arrays[f"{mode}_full_std"] = np.asarray(prediction.std)
        arrays[f"{mode}_curve"] = scores.curve.over(1).over(0).share
        found = prediction.findings
        if found is not None and found.privileged is not None:
            # Of each system and value, over the samples of z.
            loc, scale = (
                np.asarray(part) for part in (found.privileged.loc, found.privileged.scale)
            )
            arrays[f"{mode}_recovered"] = loc.mean(axis=1)
            arrays[f"{mode}_recovered_std"] = np.sqrt(loc.var(axis=1) + (scale**2).mean(axis=1))
    folder.save_predictions(arrays)
