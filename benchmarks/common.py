"""What the benchmarks share: trained models, their data, and how times are summed up."""

import os
import time
from collections.abc import Callable
from pathlib import Path

# One thread each, for us and for the rival, before either library is loaded: on networks this
# small a second thread costs more than it brings, to both.
os.environ |= {"NPROC": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}

import jax
import numpy as np

from lupi.data import Task, generate_tasks
from lupi.experiments.tasks import TASKS
from lupi.models import NeuralODEProcess, load_process

HERE = Path(__file__).parent
TRAINED = HERE.parent / "tests" / "trained"
"""The models of seed 0 of `make reproduce`, also used by the tests."""
FIGURES = HERE.parent / "docs" / "figures"


def trained_process(task: str, model: str) -> NeuralODEProcess:
    """A model of the paper's, trained on the paper's task."""
    return load_process(TRAINED / f"{task}-{model}.safetensors")


def task_data(task: str, num_tasks: int, *, num_times: int = 51, seed: int = 1) -> Task:
    """Systems of a task that no trained model has seen."""
    paper_task = TASKS[task]
    times = np.linspace(0.0, paper_task.horizon, num_times)
    return generate_tasks(
        paper_task.system,
        times,
        num_tasks,
        time_unit=paper_task.horizon,
        key=jax.random.key(1000 + seed),
    )


def summary(values) -> dict[str, float]:
    """The median of repeated measurements and the quartiles around it."""
    low, median, high = np.quantile(np.asarray(values, dtype=float), (0.25, 0.5, 0.75))
    return {"median": float(median), "lower": float(low), "upper": float(high)}


def seconds_of(work: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
