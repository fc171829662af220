"""The paper's three tasks, by name."""

from dataclasses import dataclass

from lupi.distributions import Uniform
from lupi.names import TASK_NAMES, check_name
from lupi.systems import DampedOscillators, LotkaVolterra, System


@dataclass(frozen=True)
class PaperTask:
    """A family of systems, how long it is watched, and how long a model trains on it."""

    system: System
    horizon: float
    epochs: int


TASKS: dict[str, PaperTask] = {
    "stiffness": PaperTask(
        system=DampedOscillators(k=Uniform(0.2, 1.0), c=1.0, privileged=("k",)),
        horizon=10.0,
        epochs=100,
    ),
    "damping": PaperTask(
        system=DampedOscillators(k=0.5, c=Uniform(0.5, 2.0), privileged=("c",)),
        horizon=10.0,
        epochs=100,
    ),
    "lotka-volterra": PaperTask(
        system=LotkaVolterra(u0=Uniform(0.2, 1.0), v0=Uniform(0.1, 0.5), privileged=("V",)),
        horizon=10.0,
        epochs=550,
    ),
}


def get_task(name: str) -> PaperTask:
    """The task of that name."""
    check_name("task", name, TASK_NAMES)
    return TASKS[name]
