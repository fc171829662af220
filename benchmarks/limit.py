"""How near to the machine's limit a training step comes, and where the rest of its time goes."""

import gzip
import json
import re
import tempfile
from collections import Counter
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.common import seconds_of, task_data
from lupi._machinery.compilation import OPTIMISED
from lupi.models import NeuralODEProcessSettings, build_process
from lupi.models.parts.layers import softplus
from lupi.objectives import Elbo
from lupi.training import TrainingSettings, begin
from lupi.training.state import is_array, stack
from lupi.training.steps import Loop, run_steps

REPEATS = 4096
PROCESS = NeuralODEProcessSettings()
OBSERVED, PRIVILEGED, POINTS = 2, 1, 51

KINDS = {
    "products": r"dot|ynn",
    "values kept for the gradient": r"dynamic-update-slice",
    "random splits": r"sort",
}
"""Kinds of compiled kernels by their names; all others are sums, activations and copies."""


def measure_limit() -> dict:
    """Operations of a step, the peak for such sizes, the fraction reached, and a profile."""
    width = PROCESS.hidden_size
    result: dict = {
        "operations": _operations(),
        "gflops": {
            "matrix and vector": _product_gflops(1),
            "matrix and 64 vectors": _product_gflops(64),
            "matrix and 1,024 vectors": _product_gflops(1024),
            "two matrices of 1,024": _large_product_gflops(),
        },
        "ns_softplus_of_64_layers": 1e9
        * _seconds_per_turn(lambda x: softplus(x) - 0.5, jnp.full((64, width), 0.1)),
    }
    for batch_size in (1, 64):
        microseconds, profile = _step(batch_size)
        reached = result["operations"]["total"] / microseconds / 1e3
        result[f"batch {batch_size}"] = {
            "microseconds_per_system": microseconds,
            "gflops": reached,
            "of_the_peak": reached / result["gflops"]["two matrices of 1,024"],
            "profile": profile,
        }
    print(json.dumps(result, indent=1), flush=True)
    return result


def _operations() -> dict[str, float]:
    """Multiplications and additions of a step's products; the gradient takes twice the forward's.

    Activations are left out: an exponential and some 20 operations for each hidden unit.
    """
    h, r, z, state, y = (
        PROCESS.hidden_size,
        PROCESS.representation_size,
        PROCESS.global_latent_size,
        PROCESS.latent_state_size,
        OBSERVED,
    )

    def network(size_in: int, size_out: int) -> int:
        return 2 * (size_in * h + h * h + h * size_out)

    # In the space of the first layer: two products for each of four stages. Then, at each node,
    # the last layer twice: for the state and for its derivative.
    solve = PROCESS.training_solver_steps * (4 * 2 * 2 * h * h + 2 * 2 * h * state)
    points = POINTS * (network(1 + y, r) + network(state, 2 * y)) + 2 * z * h
    rest = 2 * (network(2 * r, z) + 2 * h * z) + network(z, state)
    rest += network(PRIVILEGED, r) + network(3 * r, 2 * r)
    parts = {"solve": 3.0 * solve, "encode and decode": 3.0 * points, "rest": 3.0 * rest}
    return parts | {"total": sum(parts.values())}


def _step(batch_size: int) -> tuple[float, dict[str, dict[str, float]]]:
    """Microseconds for each system of a training loop, and a profile of its steps."""
    steps = 100  # of some 4,000 kernels each: the profiler holds a million
    num_tasks = steps * batch_size
    settings = TrainingSettings(batch_size=batch_size)
    process = build_process(
        PROCESS, observation_size=OBSERVED, privileged_size=PRIVILEGED, key=jax.random.key(0)
    )
    state = begin([process], settings, num_tasks, 1)
    _, structure = eqx.partition(stack([process]), is_array)
    compiled_in = Loop(structure, Elbo(), settings, num_tasks)
    keys = jax.random.split(jax.random.key(0), (1, num_tasks))
    arguments = (
        state.weights,
        state.optimiser,
        stack([task_data("stiffness", num_tasks)]),
        np.asarray(jax.random.key_data(keys)),
    )
    compiled = (
        jax.jit(
            lambda *arguments: run_steps(compiled_in, *arguments),
            compiler_options=OPTIMISED,
        )
        .lower(*arguments)
        .compile()
    )

    def run() -> None:
        jax.block_until_ready(compiled(*arguments))

    run()
    seconds = np.median([seconds_of(run) for _ in range(9)])
    return 1e6 * float(seconds) / num_tasks, _profile(compiled.as_text(), run, steps)


def _profile(program: str, run, steps: int) -> dict[str, dict[str, float]]:
    """Of each kind of compiled kernels: how many run in a step, and their share of the time.

    Watching a kernel takes a fraction of a microsecond itself, as long as the smallest run: in a
    batch of one the shares lean towards kinds of many kernels.
    """
    whole = set(re.findall(r"%(\S+) = .*xla_cpu_small_call", program))
    leaves = whole | {
        name
        for name, operation in re.findall(r"%(\S+) = [^=]*? ([\w-]+)\(", program)
        if operation not in ("while", "call", "conditional")
    }
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            run()
        (path,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    times: Counter[str] = Counter()
    kernels: Counter[str] = Counter()
    for event in events:
        if event.get("ph") == "X" and event["name"] in leaves:
            matching = (kind for kind, form in KINDS.items() if re.search(form, event["name"]))
            kind = next(matching, "sums, activations, copies")
            kind = "loops compiled whole" if event["name"] in whole else kind
            times[kind] += event["dur"]
            kernels[kind] += 1
    return {
        kind: {"kernels_in_a_step": kernels[kind] / steps, "share": value / times.total()}
        for kind, value in times.most_common()
    }


def _product_gflops(batch: int) -> float:
    width = PROCESS.hidden_size
    weight, x = jnp.eye(width) + 1e-3, jnp.full((batch, width), 0.1)
    seconds = _seconds_per_turn(lambda x: x @ weight.T, x, repeats=max(16, REPEATS // batch))
    return 2 * width**2 * batch / seconds / 1e9


def _large_product_gflops() -> float:
    x = jnp.ones((1024, 1024))
    return 2 * 1024**3 / _seconds_per_turn(lambda y: x @ y * 1e-3, x, repeats=4) / 1e9


def _seconds_per_turn(function, x, *, repeats: int = REPEATS) -> float:
    """Of a compiled loop that applies the function again and again; the best of nine."""

    def loop(x):
        return jax.lax.fori_loop(0, repeats, lambda _, x: function(x), x)

    compiled = jax.jit(loop, compiler_options=OPTIMISED)
    compiled(x).block_until_ready()
    return min(seconds_of(lambda: compiled(x).block_until_ready()) for _ in range(9)) / repeats
