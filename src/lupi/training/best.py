"""Which epoch of a training is taken, and whether another is still worth waiting for."""

import math

import jax
import numpy as np
from jaxtyping import Bool, Float

EpochRow = dict[str, int | float]
"""One epoch: `epoch`, each term as `train_…` (mean over its steps) and, where it was computed, as
`validation_…`."""

SIGNIFICANCE = 0.001
"""How rarely chance alone may make weights look better than the last; low, since the lowest of many
losses is looked at."""


def is_better(
    losses: Float[np.ndarray, "process task"], latest: Float[np.ndarray, "process task"]
) -> Bool[np.ndarray, " process"]:
    """Whether losses are lower than the latest ones beyond chance: Student's test, in pairs."""
    number = losses.shape[1]
    if number < 2:
        return np.zeros(len(losses), bool)
    from scipy.special import stdtrit  # a fifth of a second, at the end of training alone

    gains = latest.astype(float) - losses
    limit = stdtrit(number - 1, 1 - SIGNIFICANCE)
    return gains.mean(axis=1) > limit * gains.std(axis=1, ddof=1) / math.sqrt(number)


def is_stale(histories: list[list[EpochRow]], *, patience: int) -> bool:
    """Whether so many validations have brought nothing better, for all processes as one."""
    validated = [row["epoch"] for row in histories[0] if "validation_loss" in row]
    best = best_epochs(histories, as_one=True)[0]["epoch"]
    return len([epoch for epoch in validated if epoch > best]) >= patience


def best_epochs(histories: list[list[EpochRow]], as_one: bool = False) -> list[EpochRow]:
    """Of each process the epoch with its lowest validation loss, or that of all together."""
    validated = [[row for row in history if "validation_loss" in row] for history in histories]
    losses = np.array([[row["validation_loss"] for row in rows] for rows in validated])
    losses = np.broadcast_to(losses.mean(axis=0), losses.shape) if as_one else losses
    return [rows[i] for rows, i in zip(validated, losses.argmin(axis=1).tolist(), strict=True)]


def choose(which: np.ndarray, old, new):
    """Of stacked trees, the members of `new` that are chosen, and the others of `old`."""
    return jax.tree.map(
        lambda a, b: np.where(which.reshape(-1, *[1] * (b.ndim - 1)), b, a), old, new
    )
