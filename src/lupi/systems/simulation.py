"""The one place that simulates."""

from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.errors import UserError
from lupi.systems.system import System

TOLERANCE = 1e-10
"""Relative and absolute, in float64: 1e-12 moves the paper's systems by about 1e-8 at most."""


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
        keys = jax.random.split(key, num_systems)
        members = eqx.filter_vmap(lambda key: system.sample(key=key))(keys)
        observed, privileged, ok = _integrate(members, jnp.asarray(times))
        if not bool(ok.all()):
            raise UserError(
                f"{int((~ok).sum())} of {num_systems} systems could not be integrated to time "
                f"{times[-1]:g}: shorten the horizon or narrow the parameters' distributions."
            )
        return Trajectories(times, np.asarray(observed), np.asarray(privileged))


@eqx.filter_jit
def _integrate(members: System, times):
    def one(member):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda time, state, _: member.vector_field(time, state)),
            diffrax.Dopri8(),
            t0=0.0,
            t1=jnp.maximum(times[-1], TOLERANCE),
            dt0=None,
            y0=member.initial_state(),
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            max_steps=100_000,
            throw=False,
        )
        ok = solution.result == diffrax.RESULTS.successful
        return jax.vmap(member.observe)(solution.ys), member.privileged_values(), ok

    return eqx.filter_vmap(one)(members)
