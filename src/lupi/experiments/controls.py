"""Controls: privileged values that tell less than the true ones, or nothing."""

from typing import Annotated, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from pydantic import Field

from lupi.data import RaggedTasks, Task

Control = (
    Literal["true", "shuffled", "constant", "noise"]
    | Annotated[float, Field(gt=0, allow_inf_nan=False)]
)
"""What training is shown as privileged values: the true ones; those of another system; of every
system the same, so that a network has as many parameters as with the true ones and is told nothing;
noise of the same mean and standard deviation; or the true ones with noise of so many standard
deviations added."""

WORDS = {
    "true": "true",
    "shuffled": "shuffled between systems",
    "constant": "the same for all systems",
    "noise": "replaced by noise",
}


def describe_control(control: Control) -> str:
    """In a few words."""
    return WORDS[control] if isinstance(control, str) else f"with noise of {control:g} std added"


def controlled(
    tasks: Task | RaggedTasks, control: Control, *, key: PRNGKeyArray
) -> Task | RaggedTasks:
    """The same systems with privileged values as a control has them.

    What is not known stays unknown; shuffled, it is another system's that is not known.
    """
    if control == "true":
        return tasks
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    values = _changed(np.asarray(tasks.privileged), control, rng)
    return eqx.tree_at(lambda tasks: tasks.privileged, tasks, values)


def _changed(
    values: Float[np.ndarray, "system privileged"], control: Control, rng: np.random.Generator
) -> Float[np.ndarray, "system privileged"]:
    if control == "shuffled":
        return values[rng.permutation(len(values))]
    known = ~np.isnan(values)
    number = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / number
    std = np.sqrt(np.where(known, (values - mean) ** 2, 0.0).sum(axis=0) / number)
    drawn = std * rng.standard_normal(values.shape)
    if control == "constant":
        changed = np.broadcast_to(mean, values.shape)
    elif control == "noise":
        changed = mean + drawn
    else:
        changed = values + float(control) * drawn
    return np.where(known, changed, np.nan).astype(values.dtype)
