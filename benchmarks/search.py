"""The search for the best preset: one change at a time, judged on validation systems.

Three seeds of each hypothesis and experiment, trained in one loop, on all cores; a quarter of the
preset's steps. Every seed is a line of `search.jsonl`; what is there is not trained again. Test
systems are not touched: `lupi reproduce --preset best` judges on them, once, what was chosen here.
(Widths are learnt from the validation systems too, so what intervals cover says little here.)

`python -m benchmarks.search` does what is not done yet, and prints what came of it.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from loky import as_completed, cpu_count, get_reusable_executor

from benchmarks.common import HERE, add_lines, read_lines  # and one thread
from lupi._machinery.environment import worker_environment
from lupi.data import Task
from lupi.evaluation import draw_contexts, judge_recovered, score
from lupi.experiments import EXPERIMENTS, best_settings
from lupi.experiments.lessons import Lesson
from lupi.models import build_process
from lupi.objectives import Elbo
from lupi.prediction import predict_many
from lupi.preparation import prepare
from lupi.training import fit_together

SEEDS = 3
EPOCHS = 100
"""Of 50 steps: a quarter of the preset's."""
ROWS = HERE / "search.jsonl"

KEPT = (
    "mse",
    "crps",
    "log_likelihood",
    "calibration_error",
    "coverage_90",
    "recovered_error",
    "recovered_coverage_90",
)


class Change(NamedTuple):
    """What a hypothesis changes in the best preset."""

    process: Mapping[str, Any] = {}
    training: Mapping[str, Any] = {}
    objective: Mapping[str, Any] = {}


HYPOTHESES = {
    "best preset": Change(),
    "Adam, learning rate 1.5e-3": Change(training={"optimiser": "adam", "learning_rate": 1.5e-3}),
    "learning rate 2.5e-3": Change(training={"learning_rate": 2.5e-3}),
    "learning rate 1e-2": Change(training={"learning_rate": 1e-2}),
    "batches of 4": Change(training={"batch_size": 4, "epochs": EPOCHS // 2}),
    "batches of 16": Change(training={"batch_size": 16, "epochs": EPOCHS * 2}),
    "paper's weight of the divergence": Change(objective={"kl_weight": 1.0}),
    "a tenth of the weight": Change(objective={"kl_weight": 0.01}),
    "half the width": Change(process={"hidden_size": 32, "representation_size": 32}),
    "half the z": Change(process={"global_latent_size": 8}),
    "paper's least scales": Change(process={"min_latent_scale": 0.1, "min_observation_scale": 0.1}),
    "twice the steps of the solver": Change(
        process={"solver_steps": 16, "training_solver_steps": 16}
    ),
    "targets of 15 to 51 points": Change(training={"target_sizes": (15, 51)}),
    "attention": Change(process={"aggregator": "attention"}),
    "Bayesian aggregation": Change(process={"aggregator": "bayesian"}),
    "maximum": Change(process={"aggregator": "max"}),
}
"""By a name that says what is changed. All of them take as many steps."""


def measure_search() -> list[dict]:
    """The mean over seeds of each hypothesis on each experiment, with the error of the mean."""
    pairs = [(hypothesis, name) for hypothesis in HYPOTHESES for name in EXPERIMENTS]
    known = {(row["hypothesis"], row["experiment"]) for row in rows()}
    executor = get_reusable_executor(max_workers=cpu_count(), env=worker_environment())
    futures = [executor.submit(train_and_judge, *pair) for pair in pairs if pair not in known]
    for future in as_completed(futures):
        found = future.result()
        add_lines(ROWS, *found)
        print(f"  {found[0]}", flush=True)
    return [_mean(*pair) for pair in pairs]


def rows() -> list[dict]:
    """What has been measured."""
    return read_lines(ROWS)


def _mean(hypothesis: str, experiment: str) -> dict:
    mean: dict[str, Any] = {"hypothesis": hypothesis, "experiment": experiment}
    here = [row for row in rows() if (row["hypothesis"], row["experiment"]) == tuple(mean.values())]
    for name in here[0].keys() - {"hypothesis", "experiment", "seed"}:
        values = np.array([row[name] for row in here])
        mean[name] = float(values.mean())
        mean[f"{name}_stderr"] = float(values.std(ddof=1) / np.sqrt(len(values)))
    return mean


def train_and_judge(hypothesis: str, experiment: str) -> list[dict]:
    """The LUPI models of all seeds, on their validation systems, from contexts as in the paper."""
    change, settings = HYPOTHESES[hypothesis], best_settings(epochs=EPOCHS)
    run, model = settings.experiments[experiment], settings.models["lupi"]
    lessons = [Lesson.of(EXPERIMENTS[experiment], run, seed) for seed in range(SEEDS)]
    sizes = {
        "observation_size": lessons[0].data.validation.observations.ys.shape[-1],
        "privileged_size": lessons[0].data.validation.privileged.shape[-1],
    }
    process = model.process.model_copy(update=dict(change.process))
    started = time.perf_counter()
    fitted = fit_together(
        [build_process(process, **sizes, key=lesson.keys.weights) for lesson in lessons],
        [lesson.tasks for lesson in lessons],
        [lesson.data.validation for lesson in lessons],
        settings=run.training.model_copy(update={"validations": 1} | dict(change.training)),
        objective=Elbo(**change.objective) if change.objective else model.objective,
        keys=[lesson.keys.fit for lesson in lessons],
    )
    seconds = (time.perf_counter() - started) / SEEDS
    found = []
    for seed, (one, lesson) in enumerate(zip(fitted, lessons, strict=True)):
        data, keys, held_out = lesson.data, lesson.keys, lesson.data.validation
        assert isinstance(held_out, Task)  # they are simulated
        family = prepare(one.process, model.inference, data.training, held_out, key=keys.prediction)
        seen = held_out.observations
        prediction = predict_many(
            model.predictor(one.process, family),
            draw_contexts(seen, run.evaluation.context_sizes, key=keys.contexts),
            seen.ts,
            num_samples=run.evaluation.num_samples,
            keys=keys.prediction,
        )
        scores = score(prediction, seen.ys)
        judged = scores.overall() | judge_recovered(prediction.findings, held_out)
        found.append(
            {"hypothesis": hypothesis, "experiment": experiment, "seed": seed}
            | {name: judged[name].mean for name in KEPT if name in judged}
            | {
                "median_mse": float(np.median(scores.values["mse"].mean(axis=1))),
                "train_log_likelihood": one.history[-1]["train_log_likelihood"],
                "seconds": seconds,
            }
        )
    return found


if __name__ == "__main__":
    for row in measure_search():
        print(row)
