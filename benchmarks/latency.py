"""How long a user waits: for a prediction, for the command line, for the first step of training."""

import subprocess
import sys
import tempfile
import time

import jax
import numpy as np

from benchmarks.common import summary, task_data, trained_process
from lupi.data import draw_context
from lupi.prediction import predict

FIRST_STEP = """
import time; started = {started}
import jax, numpy as np
from lupi.experiments.data import make_data
from lupi.experiments.settings import paper_settings
from lupi.experiments.tasks import TASKS
from lupi.models import build_process
from lupi.training import fit
settings = paper_settings().tasks["stiffness"]
data = make_data(TASKS["stiffness"], settings, key=jax.random.key(0))
class Done(Exception): pass
def stop(row): raise Done
process = build_process(settings.process, key=jax.random.key(0))
try:
    fit(process, data.training, data.validation, settings=settings.training, on_epoch=stop,
        key=jax.random.key(0))
except Done:
    print(time.time() - started)
"""


def measure_latency() -> dict:
    """Milliseconds of a warm `predict`, seconds of `lupi --help` and of a start of training."""
    result = {
        "predict_ms": _predict_ms(),
        "help_s": summary([_seconds([sys.executable, "-m", "lupi", "--help"]) for _ in range(7)]),
        "first_epoch_s": _first_epoch(),
    }
    print(result, flush=True)
    return result


def _predict_ms() -> dict[str, float]:
    """9 context points, 64 samples, 100 times; two threads, as a user would have them."""
    process = trained_process("stiffness", "lupi")
    observations = task_data("stiffness", 1)[0].observations
    context = draw_context(observations, sizes=(9, 9), key=jax.random.key(0))
    times, measured = np.linspace(0, 1, 100), []
    for i in range(60):
        started = time.perf_counter()
        predict(process, context, times, num_samples=64, key=jax.random.key(i))
        measured.append(time.perf_counter() - started)
    return summary(1e3 * np.array(measured[10:]))


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def _first_epoch() -> dict[str, dict[str, float]]:
    """From nothing to the end of the first epoch, cold and from the persistent cache, in seconds.

    The epoch itself, 400 steps and validation, takes about 0.2 s of it.
    """
    times: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            for kind in times:
                from lupi.experiments.reproduce import WORKER_ENVIRONMENT

                script = FIRST_STEP.format(started=time.time())
                done = subprocess.run(
                    [sys.executable, "-c", script],
                    env=WORKER_ENVIRONMENT | {"JAX_COMPILATION_CACHE_DIR": folder, "PATH": "/bin"},
                    check=True,
                    capture_output=True,
                    text=True,
                )
                times[kind].append(float(done.stdout))
    return {kind: summary(values) for kind, values in times.items()}
