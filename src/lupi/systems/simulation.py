"""The one place that simulates."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi._machinery.compilation import compiled
from lupi._machinery.memory import check_memory
from lupi.errors import UserError, check_whole
from lupi.systems.system import System

TOLERANCE = 1e-10
"""Relative and absolute, in float64: 1e-12 moves the paper's systems by about 1e-8 at most."""

WORTH_OPTIMISING = 10_000_000
"""Points from which on the simulation is compiled to run fast, not to be ready soon."""

BYTES_PER_POINT = 60
"""Of a system at a time, while it is simulated: as measured with the paper's."""


class Trajectories(NamedTuple):
    """Simulated members of a family, on one grid of times."""

    times: Float[np.ndarray, " time"]
    observed: Float[np.ndarray, "system time observation"]
    privileged: Float[np.ndarray, "system privileged"]


def simulate(
    system: System, times: Float[np.ndarray, " time"], num_systems: int, *, key: PRNGKeyArray
) -> Trajectories:
    """Draw `num_systems` members of the family and observe each at `times`, exactly.

    Computed in float64 whatever the caller's precision is. The members depend on `key` and
    `num_systems` alone: the same key on another grid gives the same systems.
    """
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise UserError("times must be a list of finite numbers that increase: sort them first.")
    if times.size == 0 or times[0] < 0:
        raise UserError("times must start at 0 or later: a system's state is given at time 0.")
    num_systems = check_whole("the number of systems", num_systems, least=1)
    check_memory(
        BYTES_PER_POINT * num_systems * times.size,
        f"simulating {num_systems:,} systems at {times.size:,} times",
        "simulate fewer at a time",
    )
    brief = num_systems * times.size < WORTH_OPTIMISING
    trajectories, failed = _run(_solve_together, brief, system, times, num_systems, key)
    if failed:
        # One that cannot be integrated spoils the steps of all: tell it from the others.
        trajectories, failed = _run(_solve_apart, brief, system, times, num_systems, key)
    if failed:
        raise UserError(
            f"{failed} of {num_systems} systems could not be integrated to time {times[-1]:g}: "
            "shorten the horizon or narrow the parameters' distributions."
        )
    return trajectories


def _run(solve, brief: bool, system: System, times, num_systems: int, key):
    """Simulated members, and how many of them failed."""
    integrate = compiled(_integrate, brief=brief, double=True)
    observed, privileged, ok = map(np.asarray, integrate(solve, system, times, num_systems, key))
    return Trajectories(times, observed, privileged), int((~ok).sum())


def _integrate(solve, system: System, times, num_systems: int, key):
    keys = jax.random.split(key, num_systems)
    members: Any = jax.vmap(lambda key: system.sample(key=key))(keys)
    states, ok = solve(members, times)
    observed = jax.vmap(lambda member, states: jax.vmap(member.observe)(states))(members, states)
    return observed, jax.vmap(lambda member: member.privileged_values())(members), ok


def _solve_together(members, times):
    """The states of all members at all times, in steps short enough for each of them.

    One solve of many systems, not many solves: it is traced in half the time and runs four times
    faster.
    """
    import diffrax  # a third of a second that all but simulations can do without

    def error_of_worst(errors):
        return jnp.sqrt(jnp.mean(errors**2, axis=-1)).max()

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(
            lambda time, states, _: jax.vmap(lambda m, state: m.vector_field(time, state))(
                members, states
            )
        ),
        diffrax.Dopri8(),
        t0=0.0,
        t1=jnp.maximum(times[-1], TOLERANCE),
        dt0=None,
        y0=jax.vmap(lambda member: member.initial_state())(members),
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(
            rtol=TOLERANCE, atol=TOLERANCE, norm=error_of_worst
        ),
        # Nobody differentiates a simulation in reverse, and this is traced sooner.
        adjoint=diffrax.ForwardMode(),
        max_steps=100_000,
        throw=False,
    )
    states = jnp.swapaxes(jnp.asarray(solution.ys), 0, 1)
    return states, jnp.broadcast_to(solution.result == diffrax.RESULTS.successful, len(states))


def _solve_apart(members, times):
    """The same, each member in steps of its own."""

    def one(member):
        states, ok = _solve_together(jax.tree.map(lambda leaf: leaf[None], member), times)
        return states[0], ok[0]

    return jax.vmap(one)(members)
