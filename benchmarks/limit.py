"""How near to the machine's limit a training step comes, and where the rest of its time goes."""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.common import task_data
from lupi.compilation import OPTIMISED
from lupi.models import ProcessSettings, build_process
from lupi.training import TrainingSettings, fit

REPEATS = 4096
SETTINGS = ProcessSettings(observation_size=2, privileged_size=1)


def measure_limit() -> dict:
    """Operations of a step, the peak for such sizes, the fraction reached, and a breakdown."""
    width = SETTINGS.hidden_size
    step_ms = {steps: _step_ms(steps) for steps in (1, SETTINGS.solver_steps)}
    flops = _flops_of_a_step()
    result = {
        "flops_of_a_step": flops,
        "step_ms": step_ms[SETTINGS.solver_steps],
        "step_ms_without_solving": step_ms[1],
        "gflops_reached": flops["total"] / step_ms[SETTINGS.solver_steps] / 1e6,
        "gflops_matrix_vector": _product_gflops(1),
        "gflops_matrix_64_vectors": _product_gflops(64),
        "gflops_large_product": _large_product_gflops(),
        "ns_softplus_of_a_layer": 1e9 * _seconds_per_turn(jax.nn.softplus, jnp.full(width, 0.1)),
        "ns_product_of_a_layer": 1e9 * _seconds_per_turn(*_product(1)),
        "ns_empty_turn": 1e9 * _seconds_per_turn(lambda x: x + 1, jnp.zeros(width)),
    }
    evaluations = 4 * SETTINGS.solver_steps
    # Forward: two softplus and three products for each evaluation of the field.
    result["share_of_softplus"] = (
        2 * evaluations * result["ns_softplus_of_a_layer"] * 1e-6 / result["step_ms"]
    )
    return result


def _flops_of_a_step() -> dict[str, float]:
    """Multiplications and additions of the matrix products, forward; the gradient takes twice that.

    An activation counts as one operation, though it takes some 20.
    """
    s = SETTINGS
    h, r, z, latent, y = (
        s.hidden_size,
        s.representation_size,
        s.global_latent_size,
        s.latent_state_size,
        s.observation_size,
    )

    def network(size_in: int, size_out: int) -> int:
        return 2 * (size_in * h + h * h + h * size_out) + 2 * h

    points = 51
    solve = 4 * s.solver_steps * network(latent + 1, latent)
    encode = points * network(1 + y, r)
    decode = points * network(latent + z, 2 * y)
    rest = 2 * network(2 * r, 2 * z) + network(z, latent) + network(1, r) + network(3 * r, 2 * r)
    forward = solve + encode + decode + rest
    return {
        "solve": 3.0 * solve,
        "encode and decode": 3.0 * (encode + decode),
        "total": 3.0 * forward,
    }


def _step_ms(solver_steps: int) -> float:
    """Of a real training loop, one process, batch 1."""
    process = build_process(
        SETTINGS.model_copy(update={"solver_steps": solver_steps}), key=jax.random.key(0)
    )
    data, ends = task_data("stiffness", 400), []
    fit(
        process,
        data,
        data[:1],
        settings=TrainingSettings(epochs=32),
        on_epoch=lambda _: ends.append(time.perf_counter()),
        key=jax.random.key(0),
    )
    return 1e3 * float(np.median(np.diff(ends))) / len(data)


def _product(batch: int):
    width = SETTINGS.hidden_size
    weight = jnp.eye(width) + 1e-3
    x = jnp.full((width, batch) if batch > 1 else (width,), 0.1)
    return (lambda x: weight @ x), x


def _product_gflops(batch: int) -> float:
    return 2 * SETTINGS.hidden_size**2 * batch / _seconds_per_turn(*_product(batch)) / 1e9


def _large_product_gflops() -> float:
    x = jnp.ones((1024, 1024))
    return 2 * 1024**3 / _seconds_per_turn(lambda y: x @ y * 1e-3, x, repeats=4) / 1e9


def _seconds_per_turn(function, x, *, repeats: int = REPEATS) -> float:
    """Of a compiled loop that applies the function again and again; the best of nine."""

    def loop(x):
        return jax.lax.fori_loop(0, repeats, lambda _, x: function(x), x)

    compiled = eqx.filter_jit(loop, compiler_options=OPTIMISED)
    times = []
    for _ in range(10):
        started = time.perf_counter()
        compiled(x).block_until_ready()
        times.append(time.perf_counter() - started)
    return min(times[1:]) / repeats
