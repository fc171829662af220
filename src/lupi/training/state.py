"""Where training stands: all that is needed to go on."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Float

from lupi.distributions import AnyArray
from lupi.models import AbstractProcess
from lupi.training.best import EpochRow
from lupi.training.optimiser import initial_state
from lupi.training.settings import TrainingSettings


class Best(NamedTuple):
    """The epoch with the lowest validation loss so far, of each process."""

    weights: AbstractProcess
    losses: Float[AnyArray, "process task"]
    """Of the validation tasks."""
    latest: Float[AnyArray, "process task"]
    """The same of the last epoch that was validated."""


class TrainingState(NamedTuple):
    """Training after some epochs: all that is needed to go on as if it had never stopped."""

    weights: AbstractProcess
    """Of all processes, stacked."""
    optimiser: optax.OptState
    best: Best
    histories: list[list[EpochRow]]

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return len(self.histories[0])


def begin(
    processes: Sequence[AbstractProcess],
    settings: TrainingSettings,
    num_tasks: int,
    num_validation: int,
) -> TrainingState:
    """The state before the first epoch."""
    weights, _ = eqx.partition(stack(processes), is_array)
    optimiser = initial_state(weights, settings, num_tasks)
    losses = np.zeros((len(processes), num_validation), np.float32)
    best = Best(weights, losses, losses)
    return TrainingState(weights, optimiser, best, [[] for _ in processes])


def stack(trees: Sequence):
    """One tree whose arrays have a new first axis, over the trees."""
    # NumPy, here and in `member`: jax.numpy would compile something for every shape.
    return jax.tree.map(
        lambda *leaves: np.stack(leaves) if is_array(leaves[0]) else leaves[0], *trees
    )


def is_array(leaf) -> bool:
    """Whether a leaf of a process is something to be learnt, or stacked."""
    return isinstance(leaf, jax.Array | np.ndarray)


def member(stacked, i: int):
    """One of the trees that were stacked, on the device."""
    return jax.device_put(jax.tree.map(lambda leaf: leaf[i], stacked))
