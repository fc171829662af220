"""Members of a family, solved quickly and as exactly as the noise asks for."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lupi._machinery.compilation import compiled
from lupi.distributions import AnyArray
from lupi.errors import UserError
from lupi.models import hermite, solve
from lupi.systems import System, simulate

FLOOR = 1e-3
"""The least noise that is allowed for, in standard deviations of a column over the family."""

TOLERANCE = 0.05
"""The largest error of a solution, in standard deviations of the noise."""

STEPS = (64, 128, 256, 512, 1024, 2048, 4096)
"""Of the solver to a unit of time: the first of these whose error is small enough."""

NUM_MEMBERS, NUM_TIMES = 64, 97
"""At which the error is looked at."""


def observed(
    member: System,
    times: Float[AnyArray, " time"],
    *,
    time_unit: Float[AnyArray, ""],
    steps: int,
    horizon: int = 1,
) -> Float[Array, "time observation"]:
    """What is seen of a member at times in units of `time_unit`."""
    field = partial(_field, member, time_unit)
    initial = member.initial_state()
    states = solve(field, initial, times, steps_per_unit=steps, horizon=horizon)
    return jax.vmap(member.observe)(states)


def _field(member: System, time_unit, time, state):
    return time_unit * member.vector_field(time_unit * time, state)


class Bank(NamedTuple):
    """Members of a family, and the states and slopes of each at every step of the solver."""

    members: Any
    """A system with a leading axis in every field."""
    states: Float[AnyArray, "node member state"]
    slopes: Float[AnyArray, "node member state"]
    """To a step."""

    def only(self, chosen: Int[np.ndarray, " chosen"]) -> "Bank":
        """Some of the members, or all in another order."""
        members = jax.tree.map(lambda leaf: leaf[chosen], self.members)
        return Bank(members, self.states[:, chosen], self.slopes[:, chosen])

    def at(self, time: Float[Array, ""]) -> Float[Array, "member observation"]:
        """What is seen of all members at one time from 0 to 1: what `observed` gives."""
        nodes, number, size = self.states.shape
        states, slopes = (jnp.asarray(part).reshape(nodes, -1) for part in self[1:])
        there = hermite(time[None] * (nodes - 1), states, slopes).reshape(number, size)
        return jax.vmap(lambda member, state: member.observe(state))(self.members, there)


def make_bank(
    system: System, num_members: int, *, time_unit: float, steps: int, key: PRNGKeyArray
) -> Bank:
    """Members drawn from the family, solved from time 0 to 1."""
    run = compiled(_make_bank, brief=False)
    bank = jax.tree.map(np.asarray, run(system, num_members, np.float32(time_unit), steps, key))
    failed = int((~np.isfinite(bank.states).all(axis=(0, 2))).sum())
    if failed:
        raise UserError(
            f"{failed} of {num_members} systems could not be integrated to time {time_unit:g}: "
            "shorten the horizon or narrow the parameters' distributions."
        )
    return bank


def _make_bank(system: System, num_members: int, time_unit, steps: int, key) -> Bank:
    times = jnp.arange(steps + 1) / steps

    def of_member(member):
        field = partial(_field, member, time_unit)
        states = solve(field, member.initial_state(), times, steps_per_unit=steps)
        return states, jax.vmap(field)(times, states) / steps

    members = _draw(system, num_members, key)
    return Bank(members, *jax.vmap(of_member, out_axes=1)(members))


def _draw(system: System, num_members: int, key) -> Any:
    return jax.vmap(lambda key: system.sample(key=key))(jax.random.split(key, num_members))


def enough_steps(
    system: System,
    noise: Float[np.ndarray, " observation"],
    *,
    time_unit: float,
    key: PRNGKeyArray,
) -> tuple[int, Float[np.ndarray, " observation"]]:
    """How many steps to a unit of time are exact enough, and the noise that is allowed for.

    The error is the largest at some members and times, against the exact simulation.
    """
    times = (np.arange(NUM_TIMES) + 0.5) / NUM_TIMES
    exact = simulate(system, time_unit * times, NUM_MEMBERS, key=key).observed
    # In float64, so that they are those of `simulate`.
    drawn = compiled(_draw, brief=True, double=True)(system, NUM_MEMBERS, key)
    members = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), drawn)
    spread, largest = exact.std(axis=(0, 1)), np.abs(exact).max(axis=(0, 1))
    # Far from 0, float32 has fewer digits left to tell members apart.
    noise = np.maximum(noise, np.maximum(FLOOR * spread, np.maximum(1e-5 * largest, 1e-9)))
    run, error = compiled(_observed_of_all, brief=True), np.inf
    for steps in STEPS:
        found = run(members, times.astype(np.float32), np.float32(time_unit), steps)
        error = (np.abs(np.asarray(found) - exact) / noise).max()
        if error <= TOLERANCE:
            return steps, noise
    raise UserError(
        f"the ideal observer's solver may be off by {TOLERANCE} standard deviations of the noise, "
        f"and is by {error:.2g} after {STEPS[-1]} steps: give more noise or a shorter horizon, or "
        "write the system in other units."
    )


def _observed_of_all(members, times, time_unit, steps: int):
    return jax.vmap(lambda one: observed(one, times, time_unit=time_unit, steps=steps))(members)
