"""Time and peak memory as the work grows, each point in a process of its own."""

import json
import math
import subprocess
import sys
import time

import numpy as np

AXES: dict[str, tuple[int, ...]] = {
    "batch size": (1, 4, 16, 64, 256, 1024),
    "systems": (500, 10_000, 100_000, 1_000_000),
    "points per series": (10, 100, 1_000, 10_000),
    "observed dimensions": (1, 10, 100),
    "width": (16, 64, 256),
    "samples of z": (8, 64, 512, 4_096),
}

STEPS = 32
"""To an epoch, where it is steps that are timed: what an epoch has besides weighs little then."""

WHAT = {
    "batch size": "one step",
    "systems": "one epoch, batches of 64",
    "points per series": "one system of a step, batches of 16",
    "observed dimensions": "one system of a step, batches of 16",
    "width": "one system of a step, batches of 16",
    "samples of z": "a call of predict",
}


def measure_growth() -> dict[str, dict]:
    """For each axis: sizes, seconds, megabytes and the exponents fitted to their upper halves."""
    results = {}
    for axis, sizes in AXES.items():
        points = []
        for size in sizes:
            points.append(_in_own_process(axis, size))
            print(f"  {axis} {size:,}: {points[-1]}", flush=True)
        seconds, memory = (np.array([p[key] for p in points]) for key in ("seconds", "megabytes"))
        results[axis] = {
            "what": WHAT[axis],
            "sizes": list(sizes),
            "seconds": seconds.tolist(),
            "megabytes": memory.tolist(),
            # The lower sizes show the fixed cost, not the growth.
            "time_exponent": _slope(sizes, seconds),
            "memory_exponent": _slope(sizes, memory),
        }
        exponents = f"time {results[axis]['time_exponent']:.2f}"
        exponents += f", memory {results[axis]['memory_exponent']:.2f}"
        print(f"  {axis}: exponents {exponents}", flush=True)
    return results


def _slope(sizes, values) -> float:
    upper = slice(-max(2, math.ceil(len(sizes) / 2)), None)
    return float(np.polyfit(np.log(sizes[upper]), np.log(values[upper]), 1)[0])


def _in_own_process(axis: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", axis, str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _measure(axis: str, size: int) -> dict[str, float]:
    work = {"batch size": 16, "points per series": 51, "observed dimensions": 2, "width": 16}
    if axis == "samples of z":
        seconds = _predicting(size)
    elif axis == "systems":
        seconds = _training(size, batch_size=64, points=51, observed=2, width=16, epochs=2)
    else:
        work[axis] = size
        seconds = _training(
            STEPS * work["batch size"],
            batch_size=work["batch size"],
            points=work["points per series"],
            observed=work["observed dimensions"],
            width=work["width"],
            epochs=3,
        )
        seconds /= STEPS * (1 if axis == "batch size" else work["batch size"])
    return {"seconds": seconds, "megabytes": _peak_megabytes()}


def _peak_megabytes() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _training(num_systems, *, batch_size, points, observed, width, epochs) -> float:
    """Seconds of an epoch: the last one, when all is compiled."""
    import jax

    from benchmarks import common  # noqa: F401  one thread
    from lupi.data import Observations, Task
    from lupi.models import NeuralODEProcessSettings, build_process
    from lupi.training import TrainingSettings, fit, loop

    rng = np.random.default_rng(0)
    shape = (num_systems, points)
    ts = np.broadcast_to(np.linspace(0, 1, points, dtype=np.float32), shape)
    phases = rng.uniform(0, 6, (num_systems, 1, observed)).astype(np.float32)
    ys = np.sin(4 * ts[..., None] + phases)
    tasks = Task(Observations(ts, ys, np.ones(shape, bool)), phases[:, 0, :1])
    settings = NeuralODEProcessSettings(
        hidden_size=width,
        representation_size=width,
        global_latent_size=width,
        latent_state_size=width,
    )
    process = build_process(
        settings, observation_size=observed, privileged_size=1, key=jax.random.key(0)
    )
    ends = []
    loop.WORTH_OPTIMISING = 0  # compiled as for a long run
    fit(
        process,
        tasks,
        tasks[:1],
        settings=TrainingSettings(
            epochs=epochs, batch_size=batch_size, target_sizes=(min(15, points), points)
        ),
        on_epoch=lambda _: ends.append(time.perf_counter()),
        key=jax.random.key(0),
    )
    return ends[-1] - ends[-2]


def _predicting(num_samples: int) -> float:
    import jax

    from benchmarks.common import seconds_of, task_data, trained_process
    from lupi.data import draw_context
    from lupi.prediction import predict

    process = trained_process("stiffness", "lupi")
    observations = task_data("stiffness", 1)[0].observations
    context = draw_context(observations, sizes=(9, 9), key=jax.random.key(0))
    times = np.linspace(0, 1, 100)

    def once() -> None:
        predict(process, context, times, num_samples=num_samples, key=jax.random.key(1))

    once()
    return min(seconds_of(once) for _ in range(5))


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]))))
