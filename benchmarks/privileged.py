"""What is privileged information worth? LUPI against NoPI, in pairs, with many systems and few.

Every run is one of `lupi reproduce`, kept in a folder: stopped, it goes on from there. A cell is an
experiment, a number of training systems, clean or noisy; what is finished of each makes a row.
"""

from math import ceil
from pathlib import Path

import numpy as np

from lupi.experiments import (
    EXPERIMENTS,
    PAPER_MODELS,
    Experiment,
    ReproductionSettings,
    RunSettings,
    best_settings,
    collect,
    reproduce,
)
from lupi.experiments.paper import WITH, WITHOUT
from lupi.experiments.settings import DataSettings, EvaluationSettings
from lupi.metrics import estimate

FOLDER = Path("reproduction-privileged")
SIZES, NOISES, SEEDS = (400, 100, 50, 25), (0.0, 0.1), 10
STEPS = 5_000
"""Of each training: a quarter of the preset's, so that 480 of them can be done."""

METRICS = ("mse", "log_likelihood", "crps", "recovered_error")


def measure_privileged() -> list[dict]:
    """All cells."""
    for noise in NOISES:
        for size in SIZES:
            for name in EXPERIMENTS:
                run_cell(name, size, noise)
    return rows()


def run_cell(name: str, size: int, noise: float, seeds: int = SEEDS) -> None:
    """Train and judge both models on every seed of one cell."""
    cell = cell_name(name, size, noise)
    reproduce(settings(), FOLDER, experiments={cell: cells()[cell][0]}, seeds=seeds)
    print(f"  {cell}", flush=True)


def cell_name(name: str, size: int, noise: float) -> str:
    """As its folder is called."""
    return f"{name}-{size}" + ("-noisy" if noise else "")


def cells() -> dict[str, tuple[Experiment, str, int, float]]:
    """Every cell: its experiment, and what makes it."""
    return {
        cell_name(name, size, noise): (experiment, name, size, noise)
        for name, experiment in EXPERIMENTS.items()
        for size in SIZES
        for noise in NOISES
    }


def settings() -> ReproductionSettings:
    """The best preset's, for every cell; a fifth of the systems are held out, as in the paper."""
    best = best_settings()
    runs = {}
    for cell, (_, name, size, noise) in cells().items():
        training = best.experiments[name].training
        epochs = ceil(STEPS / (size // training.batch_size))
        runs[cell] = RunSettings(
            data=DataSettings(num_training=size, num_validation=ceil(size / 4), noise=noise),
            training=training.model_copy(update={"epochs": epochs, "validations": 1}),
            evaluation=EvaluationSettings(num_systems=200, num_samples=64),
        )
    return ReproductionSettings(experiments=runs, models=best.models)


def rows() -> list[dict]:
    """Of each cell that has runs of both models: every seed's figures, and what LUPI gains."""
    records = [r for r in collect(settings(), FOLDER).records if r.mode == "test"]
    found = []
    for cell, (_, name, size, noise) in cells().items():
        here = {(r.model, r.seed): r.metrics for r in records if r.experiment == cell}
        seeds = sorted(s for s in range(SEEDS) if all((m, s) in here for m in PAPER_MODELS))
        if not seeds:
            continue
        row = {"experiment": name, "systems": size, "noise": noise, "seeds": len(seeds)}
        for metric in METRICS:
            without, with_ = (
                np.array([here[model, seed][metric].mean for seed in seeds])
                for model in (WITHOUT, WITH)
            )
            # Errors are compared by their ratio, whose logarithm has no direction of its own.
            gain = with_ - without if metric == "log_likelihood" else np.log(without / with_)
            row[metric] = {
                WITHOUT: without.tolist(),
                WITH: with_.tolist(),
                "gain": estimate(gain)._asdict(),
                "seeds_in_favour": int((gain > 0).sum()),
            }
        found.append(row)
    return found
