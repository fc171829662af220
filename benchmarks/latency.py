"""How long a user waits: for a prediction, for the command line, for the first step of training."""

import subprocess
import sys
import tempfile
import time

import jax
import numpy as np

from benchmarks.common import seconds_of, summary, task_data, trained_process
from lupi.cli import app
from lupi.data import draw_context
from lupi.experiments.reproduce import WORKER_ENVIRONMENT
from lupi.prediction import predict

FIRST_STEPS = """
import sys, time; started = {started}
import jax
from lupi.experiments.data import make_data
from lupi.experiments.settings import paper_settings
from lupi.experiments.tasks import TASKS
from lupi.models import build_process
from lupi.training import fit
settings = paper_settings().tasks["stiffness"]
data = make_data(TASKS["stiffness"], settings, key=jax.random.key(0))
class Done(Exception): pass
def stop(*arguments): raise Done
sys.modules["lupi.training.fit"]._validate = stop  # what follows the first epoch's steps
process = build_process(settings.process, key=jax.random.key(0))
try:
    fit(process, data.training, data.validation, settings=settings.training,
        key=jax.random.key(0))
except Done:
    print(time.time() - started)
"""


def measure_latency() -> dict:
    """Milliseconds of a warm `predict`, seconds of `lupi --help` and of a start of training."""
    result = {
        "predict_ms": _predict_ms(),
        "help_s": summary([_seconds([sys.executable, "-m", "lupi", "--help"]) for _ in range(7)]),
        "completion_s": _completion(),
        "first_steps_s": _first_steps(),
    }
    print(result, flush=True)
    return result


def _predict_ms() -> dict[str, float]:
    """9 context points, 64 samples, 100 times; one thread, a second one gains nothing."""
    process = trained_process("stiffness", "lupi")
    observations = task_data("stiffness", 1)[0].observations
    context = draw_context(observations, sizes=(9, 9), key=jax.random.key(0))
    times = np.linspace(0, 1, 100)
    keys = iter(jax.random.split(jax.random.key(0), 60))

    def once() -> None:
        predict(process, context, times, num_samples=64, key=next(keys))

    measured = [seconds_of(once) for _ in range(60)]
    return summary(1e3 * np.array(measured[10:]))


def _seconds(command: list[str]) -> float:
    return seconds_of(lambda: subprocess.run(command, check=True, capture_output=True))


def _completion() -> dict[str, float]:
    """A new bash that loads the completion and completes `lupi reproduce --qu`."""
    script = app.generate_completion(shell="bash")
    words = "COMP_WORDS=(lupi reproduce --qu); COMP_CWORD=2; _lupi; [ $COMPREPLY = --quick ]"
    return summary([_seconds(["bash", "-c", f"{script}\n{words}"]) for _ in range(7)])


def _first_steps() -> dict[str, dict[str, float]]:
    """From nothing to the first steps of training, cold and from the persistent cache, in seconds.

    It ends when the 400 steps of the first epoch, one compiled call of about 0.1 s, are done.
    """
    times: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            for kind in times:
                script = FIRST_STEPS.format(started=time.time())
                done = subprocess.run(
                    [sys.executable, "-c", script],
                    env=WORKER_ENVIRONMENT | {"JAX_COMPILATION_CACHE_DIR": folder, "PATH": "/bin"},
                    check=True,
                    capture_output=True,
                    text=True,
                )
                times[kind].append(float(done.stdout))
    return {kind: summary(values) for kind, values in times.items()}
