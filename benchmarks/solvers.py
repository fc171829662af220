"""Solvers of the latent ODE, compared on trained models: how exact, and at what cost."""

import time

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.common import seconds_of, task_data, trained_process
from lupi._machinery.compilation import OPTIMISED
from lupi.data import draw_context, split_randomly
from lupi.experiments import EXPERIMENTS, PAPER_MODELS
from lupi.models import NeuralODEProcess, Sample
from lupi.models.parts.latent_ode import LatentODE
from lupi.models.solving import solve, solve_network
from lupi.objectives import Elbo

NUM_SYSTEMS, NUM_SAMPLES = 50, 32
TIMES = np.linspace(0.0, 1.0, 100)


class OwnODE(eqx.Module):
    """`LatentODE` in another number of steps; it takes the same call."""

    ode: LatentODE
    steps: int = eqx.field(static=True)
    general: bool = eqx.field(static=True, default=False)
    """By the solver of any vector field, not by that of networks."""

    def __call__(self, initial_state, global_latent, ts, *, horizon: int = 1):
        """The states at `ts`."""
        sizes = {"steps_per_unit": self.steps, "horizon": horizon}
        if not self.general:
            return solve_network(self.ode.mlp, initial_state, global_latent, ts, **sizes)
        field = self.ode.vector_field
        return solve(lambda t, x: field(t, x, global_latent), initial_state, ts, **sizes)


class DiffraxODE(eqx.Module):
    """`LatentODE` solved by diffrax; it takes the same call."""

    ode: LatentODE
    solver: diffrax.AbstractSolver
    controller: diffrax.AbstractStepSizeController
    adjoint: diffrax.AbstractAdjoint
    steps: int | None = eqx.field(static=True, default=None)

    def __call__(self, initial_state, global_latent, ts, *, horizon: int = 1):
        """The states at `ts`, read from the solver's dense output."""
        order = jnp.argsort(ts)
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, _: self.ode.vector_field(t, y, global_latent)),
            self.solver,
            t0=0.0,
            t1=float(horizon),
            dt0=None if self.steps is None else horizon / self.steps,
            y0=initial_state,
            saveat=diffrax.SaveAt(ts=ts[order]),
            stepsize_controller=self.controller,
            adjoint=self.adjoint,
            max_steps=4096 if self.steps is None else self.steps + 1,
        )
        return solution.ys[jnp.argsort(order)]


def compare_solvers() -> list[dict]:
    """The largest errors of predictions of each experiment, and the cost on Lotka-Volterra's LUPI.

    Errors are against diffrax's Dopri8 at a tolerance of 1e-12 in float64, same samples of z; the
    solvers themselves run in float32.
    """
    checkpoint = diffrax.RecursiveCheckpointAdjoint()
    candidates: dict[str, dict] = {
        f"own loop, {n} steps": {"steps": n} for n in (24, 32, 40, 48, 56, 64)
    }
    for n in (32, 56):
        candidates[f"own loop for any field, {n} steps"] = {"steps": n, "general": True}
    for solver in (diffrax.Tsit5(), diffrax.Dopri5()):
        for tolerance in (1e-3, 1e-4, 1e-5, 1e-6):
            controller = diffrax.PIDController(rtol=tolerance, atol=tolerance)
            name = f"diffrax {type(solver).__name__}, adaptive, {tolerance:.0e}"
            candidates[name] = {"make": (solver, controller, checkpoint)}
    constant = diffrax.ConstantStepSize()
    for n in (24, 48):
        name = f"diffrax Tsit5, {n} fixed steps"
        candidates[name] = {"make": (diffrax.Tsit5(), constant, checkpoint), "steps": n}
    adaptive = diffrax.PIDController(rtol=1e-5, atol=1e-5)
    for adjoint in (diffrax.DirectAdjoint(), diffrax.ForwardMode()):
        name = f"diffrax Tsit5, adaptive, 1e-05, {type(adjoint).__name__}"
        candidates[name] = {"make": (diffrax.Tsit5(), adaptive, adjoint)}

    cases = {
        (experiment, model): _case(experiment, model)
        for experiment in EXPERIMENTS
        for model in PAPER_MODELS
    }
    rows = []
    for name, choice in candidates.items():
        row: dict = {"solver": name}
        adjoint = choice["make"][2] if "make" in choice else checkpoint
        if isinstance(adjoint, diffrax.RecursiveCheckpointAdjoint):
            for (experiment, model), (process, latents, exact) in cases.items():
                changed = _with_solver(process, choice)
                row[f"{experiment} {model}"] = _errors(changed, latents, exact)
        process = _with_solver(cases["lotka-volterra", "lupi"][0], choice)
        row["cost"] = _cost(process, forward=isinstance(adjoint, diffrax.ForwardMode))
        print(_line(row), flush=True)
        rows.append(row)
    return rows


def _line(row: dict) -> str:
    cost = ", ".join(f"{name} {value:.3g}" for name, value in row["cost"].items())
    errors = [value for value in row.values() if isinstance(value, dict) and "mean" in value]
    if not errors:
        return f"  {row['solver']}: {cost}"
    worst = max(error["mean"] for error in errors), max(e["mean_over_std"] for e in errors)
    return f"  {row['solver']}: error {worst[0]:.1e}, {worst[1]:.2%} of the std; {cost}"


def _with_solver(process: NeuralODEProcess, choice: dict) -> NeuralODEProcess:
    ode = process.latent_ode
    if "make" in choice:
        ode = DiffraxODE(ode, *choice["make"], steps=choice.get("steps"))
    else:
        ode = OwnODE(ode, **choice)
    return eqx.tree_at(lambda p: p.latent_ode, process, ode)


def _case(experiment: str, model: str):
    """A trained model, samples of z for contexts of its systems, and the exact decoded means."""
    process = trained_process(experiment, model).without_privileged()
    tasks = task_data(experiment, NUM_SYSTEMS, num_times=100, seed=3)
    keys = jax.random.split(jax.random.key(0), NUM_SYSTEMS)

    def sample(observations, key):
        context_key, latent_key = jax.random.split(key)
        context = draw_context(observations, sizes=(5, 9), key=context_key)
        return process.encode(context).latent.sample(latent_key, (NUM_SAMPLES,))

    latents = jax.jit(jax.vmap(sample))(tasks.observations, keys)
    with jax.enable_x64(True):
        double = jax.tree.map(
            lambda leaf: jnp.asarray(np.asarray(leaf), jnp.float64) if eqx.is_array(leaf) else leaf,
            process,
        )
        tight = diffrax.PIDController(rtol=1e-12, atol=1e-12)
        choice = {"make": (diffrax.Dopri8(), tight, diffrax.RecursiveCheckpointAdjoint())}
        exact = _decode(_with_solver(double, choice), np.asarray(latents, np.float64))
    return process, latents, exact


def _decode_all(process: NeuralODEProcess, latents):
    return jax.vmap(lambda z: process.decode(Sample(z), jnp.asarray(TIMES, z.dtype)).loc)(latents)


def _decode(process: NeuralODEProcess, latents) -> np.ndarray:
    flat = jnp.asarray(latents).reshape(-1, latents.shape[-1])
    return np.asarray(eqx.filter_jit(_decode_all)(process, flat)).reshape(
        *latents.shape[:2], TIMES.size, -1
    )


def _errors(process: NeuralODEProcess, latents, exact: np.ndarray) -> dict[str, float]:
    """The largest error of the predicted mean, that error over the predicted std, of one sample."""
    decoded = _decode(process, latents)
    of_mean = np.abs(decoded.mean(axis=1) - exact.mean(axis=1))
    std = exact.std(axis=1, ddof=1)
    return {
        "mean": float(of_mean.max()),
        "mean_over_std": float((of_mean / std).max()),
        "sample": float(np.abs(decoded - exact).max()),
    }


def _cost(process: NeuralODEProcess, *, forward: bool) -> dict[str, float]:
    """Milliseconds: of one gradient of the loss in a compiled loop of 64, of a decoded sample."""
    tasks = task_data("lotka-volterra", 64)
    weights, structure = eqx.partition(process, eqx.is_inexact_array)
    splits = jax.jit(
        jax.vmap(
            lambda o, key: split_randomly(o, context_sizes=(5, 9), target_sizes=(15, 50), key=key)
        )
    )(tasks.observations, jax.random.split(jax.random.key(0), 64))

    def loss(weights, split, privileged, key):
        return Elbo()(eqx.combine(weights, structure), split, privileged, key=key)[0]

    gradient = jax.jacfwd(loss) if forward else jax.grad(loss)

    def step(weights, batch):
        change = gradient(weights, *batch)
        return jax.tree.map(lambda w, d: w - 1e-6 * d, weights, change), None

    def run(weights):
        keys = jax.random.split(jax.random.key(1), 64)
        return jax.lax.scan(step, weights, (splits, tasks.privileged, keys))[0]

    started = time.perf_counter()
    compiled = jax.jit(run, compiler_options=OPTIMISED).lower(weights).compile()
    compile_seconds = time.perf_counter() - started
    seconds = _median(lambda: jax.block_until_ready(compiled(weights)), 1 if forward else 5)
    latents = jax.random.normal(jax.random.key(2), (256, 16))
    decode = eqx.filter_jit(_decode_all, compiler_options=OPTIMISED)
    decode(process, latents)
    sample_seconds = _median(lambda: jax.block_until_ready(decode(process, latents)), 5)
    return {
        "gradient_ms": 1e3 * seconds / 64,
        "sample_ms": 1e3 * sample_seconds / 256,
        "compile_s": compile_seconds,
    }


def _median(work, repeats: int) -> float:
    work()
    return float(np.median([seconds_of(work) for _ in range(repeats)]))
