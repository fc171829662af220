"""What is privileged information worth? LUPI against NoPI, in pairs, with many systems and few.

Every run is one of `lupi reproduce`, kept in a folder: stopped, it goes on from there. A cell is an
experiment, a number of training systems, clean or noisy. A cell that is done is a line of
`privileged.jsonl`, and is not done again: all of them take hours, not necessarily on one day.

`python -m benchmarks.privileged stiffness-25 damping-100-noisy` does some cells.
"""

import sys
from math import ceil
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from benchmarks.common import HERE, add_lines, read_lines  # and one thread
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
LINES = HERE / "privileged.jsonl"
SIZES, NOISES = (25, 50, 100, 400), (0.0, 0.1)
SEEDS = 12
"""Whole loops of seeds that train together."""
STEPS = 5_000
"""Of each training: a quarter of the preset's, so that 576 of them can be done."""

METRICS = ("mse", "log_likelihood", "crps", "recovered_error")


def measure_privileged() -> list[dict]:
    """Every cell that is not done yet; then all of them."""
    for cell in cells():
        run_cell(cell)
    return rows()


def run_cell(cell: str) -> None:
    """Train and judge both models on every seed of one cell."""
    if any(row["cell"] == cell for row in rows()):
        return
    reproduce(settings(), FOLDER, experiments={cell: cells()[cell][0]}, seeds=SEEDS)
    row = row_of(cell)
    add_lines(LINES, row)
    print(f"  {cell}: {row['mse']}", flush=True)


def rows() -> list[dict]:
    """What has been measured."""
    return read_lines(LINES)


def cell_name(name: str, size: int, noise: float) -> str:
    """As its folder is called."""
    return f"{name}-{size}" + ("-noisy" if noise else "")


def cells() -> dict[str, tuple[Experiment, str, int, float]]:
    """Every cell: its experiment, and what makes it."""
    return {
        cell_name(name, size, noise): (experiment, name, size, noise)
        for noise in NOISES
        for size in SIZES
        for name, experiment in EXPERIMENTS.items()
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
    return ReproductionSettings(preset=best.preset, experiments=runs, models=best.models)


def row_of(cell: str) -> dict:
    """Of a cell with runs of both models: every seed's figures, and what LUPI gains."""
    _, name, size, noise = cells()[cell]
    records = [r for r in collect(settings(), FOLDER).records if r.experiment == cell]
    here = {(r.model, r.seed): r.metrics for r in records if r.mode == "test"}
    seeds = [s for s in range(SEEDS) if all((m, s) in here for m in PAPER_MODELS)]
    row = {"cell": cell, "experiment": name, "systems": size, "noise": noise, "seeds": len(seeds)}
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
    return row


def whatever_the_number(metric: str) -> dict[tuple[str, float], tuple[float, float, float]]:
    """By experiment and noise, where all numbers of training systems are done: the mean gain over
    them, with the ends of its 95 % interval. Seeds with one number say nothing of those with
    another, so their errors add up as independent ones do."""
    found = {}
    for name, noise in ((name, noise) for noise in NOISES for name in EXPERIMENTS):
        here = [r for r in rows() if (r["experiment"], r["noise"]) == (name, noise)]
        if {r["systems"] for r in here} != set(SIZES):
            continue
        gains = [r[metric]["gain"] for r in here]
        mean = np.mean([gain["mean"] for gain in gains])
        error = np.sqrt(np.sum([gain["stderr"] ** 2 for gain in gains])) / len(gains)
        width = stdtrit(sum(r["seeds"] - 1 for r in here), 0.975) * error
        found[name, noise] = (float(mean), float(mean - width), float(mean + width))
    return found


if __name__ == "__main__":
    for chosen in sys.argv[1:] or cells():
        run_cell(chosen)
    for metric in METRICS:
        print(metric, whatever_the_number(metric))
