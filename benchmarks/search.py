"""The search for the best preset: one change at a time, judged on validation systems.

Every training is a line of `search.jsonl`; what is there is not trained again. Test systems are not
touched: `lupi reproduce --preset best` judges on them, once, what was chosen here.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

import benchmarks.common  # noqa: F401  one thread
from benchmarks.common import HERE
from lupi.evaluation import draw_contexts, judge_recovered, score
from lupi.experiments import EXPERIMENTS, best_settings
from lupi.experiments.systems import make_data
from lupi.models import build_process
from lupi.objectives import Elbo
from lupi.prediction import predict_many
from lupi.preparation import prepare
from lupi.training import fit

SEEDS = 3
ROWS = HERE / "search.jsonl"


class Change(NamedTuple):
    """What a hypothesis changes in the best preset."""

    process: Mapping[str, Any] = {}
    training: Mapping[str, Any] = {}
    objective: Mapping[str, Any] = {}


HYPOTHESES = {
    "best preset": Change(),
    "paper's weight of the divergence": Change(objective={"kl_weight": 1.0}),
    "targets of 15 to 50 points": Change(training={"target_sizes": (15, 50)}),
    "learning rate 1.5e-3": Change(training={"learning_rate": 1.5e-3}),
    "learning rate 6e-3": Change(training={"learning_rate": 6e-3}),
    "half the width": Change(process={"hidden_size": 32, "representation_size": 32}),
    "half the z": Change(process={"global_latent_size": 8}),
    "the paper's least scales": Change(
        process={"min_latent_scale": 0.1, "min_observation_scale": 0.1}
    ),
    "batches of 4": Change(training={"batch_size": 4, "epochs": 200}),
}
"""By a name that says what is changed. All but "batches of 4" see each system equally often."""


def measure_search() -> list[dict]:
    """The mean over seeds of each hypothesis on each experiment, with the error of the mean."""
    known = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    done = {(row["hypothesis"], row["experiment"], row["seed"]): row for row in known}
    means = []
    for hypothesis, change in HYPOTHESES.items():
        for experiment in EXPERIMENTS:
            rows = []
            for seed in range(SEEDS):
                name = (hypothesis, experiment, seed)
                if name not in done:
                    done[name] = dict(zip(("hypothesis", "experiment", "seed"), name, strict=True))
                    done[name] |= _train_and_judge(experiment, seed, change)
                    with ROWS.open("a") as file:
                        file.write(json.dumps(done[name]) + "\n")
                    print(f"  {done[name]}", flush=True)
                rows.append(done[name])
            mean = {"hypothesis": hypothesis, "experiment": experiment}
            for name in rows[0].keys() - {"hypothesis", "experiment", "seed"}:
                values = np.array([row[name] for row in rows])
                mean[name] = float(values.mean())
                mean[f"{name}_stderr"] = float(values.std(ddof=1) / np.sqrt(SEEDS))
            means.append(mean)
    return means


def _train_and_judge(experiment: str, seed: int, change: Change) -> dict[str, float]:
    """The LUPI model of a seed, on its validation systems, from contexts as in the experiment."""
    settings = best_settings()
    run, model = settings.experiments[experiment], settings.models["lupi"]
    data_key, context_key, weights_key, fit_key, key = jax.random.split(jax.random.key(seed), 5)
    data = make_data(EXPERIMENTS[experiment], run, key=data_key)
    process = build_process(
        model.process.model_copy(update=dict(change.process)),
        observation_size=data.validation.observations.ys.shape[-1],
        privileged_size=data.validation.privileged.shape[-1],
        key=weights_key,
    )
    objective = Elbo(**change.objective) if change.objective else model.objective
    training = run.training.model_copy(update=dict(change.training))
    started = time.perf_counter()
    process, history = fit(
        process,
        data.training,
        data.validation,
        settings=training,
        objective=objective,
        key=fit_key,
    )
    seconds = time.perf_counter() - started
    family = prepare(process, model.inference, data.training, data.validation, key=key)
    seen = data.validation.observations
    contexts = draw_contexts(seen, run.evaluation.context_sizes, key=context_key)
    number = run.evaluation.num_samples
    predictor = model.predictor(process, family)
    prediction = predict_many(predictor, contexts, seen.ts, num_samples=number, keys=key)
    scores = score(prediction, seen.ys)
    found = scores.overall() | judge_recovered(prediction.findings, data.validation)
    kept = (
        "mse",
        "crps",
        "calibration_error",
        "coverage_90",
        "recovered_error",
        "recovered_coverage_90",
    )
    return {name: found[name].mean for name in kept if name in found} | {
        "median_mse": float(np.median(scores.values["mse"].mean(axis=1))),
        "train_log_likelihood": history[-1]["train_log_likelihood"],
        "seconds": seconds,
    }
