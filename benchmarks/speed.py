"""lupi and the rival in turns, on the same models and the same work."""

import time
from functools import partial

import jax
import numpy as np
import torch

from benchmarks.common import seconds_of, summary, task_data, trained_process
from benchmarks.rival import check_agreement, copy_parameters, predict, training_step
from lupi.data import Task
from lupi.evaluation import draw_contexts
from lupi.experiments import EXPERIMENTS, PAPER_MODELS
from lupi.experiments.settings import EvaluationSettings
from lupi.models import NeuralODEProcess, NeuralODEProcessSettings, build_process
from lupi.prediction import predict_many
from lupi.training import TrainingSettings, fit

ROUNDS = 5
RIVAL_STEPS = 6
RIVAL_SAMPLES = 6
EPOCHS = 32
"""Of 400 systems: enough for `fit` to compile its loop as it does for a real run."""


def compare_speed() -> list[dict]:
    """Times per system or sample and their ratios, of trained models and of a fresh one."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    for experiment in EXPERIMENTS:
        data, test = task_data(experiment, 640), task_data(experiment, 500, num_times=100, seed=2)
        for model in PAPER_MODELS:
            process = trained_process(experiment, model)
            rows += _compare(process, data, test, f"{experiment} {model}, trained")
    fresh = build_process(
        NeuralODEProcessSettings(), observation_size=2, privileged_size=1, key=jax.random.key(0)
    )
    assert isinstance(fresh, NeuralODEProcess)
    rows += _compare(fresh, task_data("stiffness", 640), test, "lupi, fresh weights")
    return rows


def _compare(process: NeuralODEProcess, data: Task, test: Task, name: str) -> list[dict]:
    rival = copy_parameters(process)
    for i in range(3):
        agreement = check_agreement(process, rival, data[i], key=jax.random.key(i))
    print(f"{name}: agreement {agreement._asdict()}", flush=True)
    return [
        _row(name, "training step, batch 1", *_training(process, data[:400], 1)),
        _row(name, "training step, batch 64", *_training(process, data, 64)),
        _row(name, "evaluation, per sample", *_evaluation(process, test)),
    ]


def _row(name: str, work: str, ours: list[float], theirs: list[float]) -> dict:
    row = {
        "model": name,
        "work": work,
        "lupi_ms": summary(1e3 * np.array(ours)),
        "rival_ms": summary(1e3 * np.array(theirs)),
        # In turns: each of our times beside the rival's that followed it.
        "ratio": summary(np.array(theirs) / np.array(ours)),
    }
    print(
        f"  {work:24s} lupi {row['lupi_ms']['median']:8.4f} ms   rival "
        f"{row['rival_ms']['median']:7.1f} ms   ratio {row['ratio']['median']:7.0f}",
        flush=True,
    )
    return row


def _training(process: NeuralODEProcess, data: Task, batch_size: int):
    """Seconds per system: epochs of `fit`, between them steps of the rival."""
    rival = copy_parameters(process)
    optimiser = torch.optim.Adam(rival.parameters(), lr=1e-3)
    rng = np.random.default_rng(0)
    tensors = [torch.from_numpy(np.array(part)) for part in _parts(data)]

    def rival_steps() -> None:
        for i in rng.integers(len(data), size=RIVAL_STEPS):
            training_step(rival, optimiser, *(part[i] for part in tensors), rng=rng)

    ours, theirs = [], []
    every = EPOCHS // (ROUNDS + 1)
    started = time.perf_counter()

    def on_epoch(row) -> None:
        nonlocal started
        seconds = time.perf_counter() - started
        if row["epoch"] % every == 0 and len(ours) < ROUNDS:
            ours.append(seconds / (len(data) // batch_size * batch_size))
            theirs.append(seconds_of(rival_steps) / RIVAL_STEPS)
        started = time.perf_counter()

    settings = TrainingSettings(epochs=EPOCHS, batch_size=batch_size)
    fit(process, data, data[:1], settings=settings, on_epoch=on_epoch, key=jax.random.key(0))
    return ours, theirs


def _evaluation(process: NeuralODEProcess, test: Task):
    """Seconds per sample of 500 systems with 32 samples each, from contexts to predictions."""
    rival = copy_parameters(process)
    settings = EvaluationSettings()
    seen, number = test.observations, settings.num_samples
    contexts = draw_contexts(seen, settings.context_sizes, key=jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), len(test))
    ts, ys, _ = (torch.from_numpy(np.array(part)) for part in _parts(test))
    masks = torch.from_numpy(np.array(contexts.mask))

    def ours_once() -> None:
        predict_many(process, contexts, seen.ts, num_samples=number, keys=keys)

    def rival_once(i: int) -> None:
        predict(rival, ts[i][masks[i]], ys[i][masks[i]], ts[i], RIVAL_SAMPLES)

    ours_once()
    ours, theirs = [], []
    for i in range(ROUNDS):
        ours.append(seconds_of(ours_once) / (len(test) * number))
        theirs.append(seconds_of(partial(rival_once, i)) / RIVAL_SAMPLES)
    return ours, theirs


def _parts(tasks: Task):
    return tasks.observations.ts, tasks.observations.ys, tasks.privileged
