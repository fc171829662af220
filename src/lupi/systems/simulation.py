"""The one place that simulates."""

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.compilation import compiled
from lupi.errors import UserError
from lupi.systems.system import System

TOLERANCE = 1e-10
"""Relative and absolute, in float64: 1e-12 moves the paper's systems by about 1e-8 at most."""

WORTH_OPTIMISING = 10_000_000
"""Points from which on the simulation is compiled to run fast, not to be ready soon."""


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
    with jax.enable_x64(True):
        integrate = compiled(_integrate, brief=num_systems * times.size < WORTH_OPTIMISING)
        observed, privileged, ok = integrate(system, times, num_systems, key)
        if not bool(ok.all()):
            raise UserError(
                f"{int((~ok).sum())} of {num_systems} systems could not be integrated to time "
                f"{times[-1]:g}: shorten the horizon or narrow the parameters' distributions."
            )
        return Trajectories(times, np.asarray(observed), np.asarray(privileged))


def _integrate(system: System, times, num_systems: int, key):
    def one(key):
        member: Any = system.sample(key=key)
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda time, state, _: member.vector_field(time, state)),
            diffrax.Dopri8(),
            t0=0.0,
            t1=jnp.maximum(times[-1], TOLERANCE),
            dt0=None,
            y0=member.initial_state(),
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            # Nobody differentiates a simulation in reverse, and this is traced sooner.
            adjoint=diffrax.ForwardMode(),
            max_steps=100_000,
            throw=False,
        )
        ok = solution.result == diffrax.RESULTS.successful
        return jax.vmap(member.observe)(solution.ys), member.privileged_values(), ok

    return jax.vmap(one)(jax.random.split(key, num_systems))
