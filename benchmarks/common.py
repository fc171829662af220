"""What the benchmarks share: trained models, their data, and how times are summed up."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

import lupi
from lupi.data import Task, generate_tasks
from lupi.experiments import get_experiment
from lupi.models import NeuralODEProcess, load_process

USERS_ENVIRONMENT = dict(os.environ)
"""As this process was started: what a program that calls the library runs in."""

# Before JAX computes anything. One thread each, for us and for the rival: on networks this small a
# second thread costs more than it brings, to both. And small loops in one piece, as our commands
# and their workers have them.
os.environ |= {"NPROC": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
lupi.compile_small_loops()

HERE = Path(__file__).parent
TRAINED = HERE.parent / "tests" / "trained"
"""The models of seed 0 of `make reproduce`, also used by the tests."""
FIGURES = HERE.parent / "docs" / "figures"


def trained_process(experiment: str, model: str) -> NeuralODEProcess:
    """A model of the paper's, trained on the paper's experiment."""
    process = load_process(TRAINED / f"{experiment}-{model}.safetensors")
    assert isinstance(process, NeuralODEProcess)
    return process


def task_data(
    experiment: str,
    num_tasks: int,
    *,
    num_times: int = 51,
    until: float | None = None,
    seed: int = 1,
) -> Task:
    """Systems of an experiment that no trained model has seen, to its horizon or another time."""
    chosen = get_experiment(experiment).source
    times = np.linspace(0.0, until or chosen.horizon, num_times)
    return generate_tasks(
        chosen.system,
        times,
        num_tasks,
        time_unit=chosen.horizon,
        key=jax.random.key(1000 + seed),
    )


def read_lines(path: Path) -> list[dict]:
    """What has been measured, where each line of a file is a measurement in JSON."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_lines(path: Path, *rows: dict) -> None:
    """Keep what is done: it is not done again."""
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def summary(values) -> dict[str, float]:
    """The median of repeated measurements and the quartiles around it."""
    low, median, high = np.quantile(np.asarray(values, dtype=float), (0.25, 0.5, 0.75))
    return {"median": float(median), "lower": float(low), "upper": float(high)}


def seconds_of(work: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
