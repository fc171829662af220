"""Tasks made by simulating a system."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.systems import System, simulate


def generate_tasks(
    system: System,
    times: Float[np.ndarray, " time"],
    num_tasks: int,
    *,
    time_unit: float = 1.0,
    key: PRNGKeyArray,
) -> Task:
    """Simulate `num_tasks` members of a family: one `Task` with a leading axis over them.

    The model sees times divided by `time_unit`; the paper shows it a horizon of 10 as [0, 1].
    """
    trajectories = simulate(system, times, num_tasks, key=key)
    ts = jnp.asarray(trajectories.times / time_unit, dtype=float)
    ts = jnp.broadcast_to(ts, (num_tasks, ts.size))
    observations = Observations(ts, jnp.asarray(trajectories.observed, dtype=float))
    return Task(observations, jnp.asarray(trajectories.privileged, dtype=float))
