"""Training on disk: after a crash, or tomorrow, it goes on as if it had never stopped."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lupi._machinery.array_files import read_arrays, write_arrays
from lupi._machinery.files import remove_partial
from lupi.errors import UserError
from lupi.training.best import EpochRow
from lupi.training.state import TrainingState

HISTORY = "history."


def save_checkpoint(
    path: str | os.PathLike, state: TrainingState, *, identity: dict[str, Any]
) -> None:
    """Write a state of training, whole or not at all.

    `identity` says, in JSON, what is being trained on what: only the same training may go on.
    """
    leaves = jax.device_get(jax.tree.leaves(state[:3]))
    arrays = {f"{i:04}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    # As arrays: thousands of epochs are too much for a header.
    arrays |= {f"{HISTORY}{name}": column for name, column in _columns(state.histories).items()}
    write_arrays(path, arrays, {"identity": identity}, kind="checkpoint")


def _differences(old: Any, new: Any, name: str = "") -> list[str]:
    """Where two identities differ, each with what it was and what it is."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            difference
            for key in sorted(old.keys() | new.keys())
            for difference in _differences(old.get(key), new.get(key), f"{name}.{key}".lstrip("."))
        ]
    return [] if old == new else [f"{name} was {old!r:.20}, is {new!r:.20}"]


def load_checkpoint(
    path: str | os.PathLike, like: TrainingState, *, identity: dict[str, Any]
) -> TrainingState | None:
    """The state of training in a file, or nothing if there is no file yet.

    `like` is a state of the same training, for its structure.
    """
    remove_partial(path)
    if not Path(path).exists():
        return None
    header, arrays = read_arrays(path, kind="checkpoint")
    differences = _differences(header.get("identity"), identity)
    if differences:
        raise UserError(
            f"the checkpoint {path} is of another training ({'; '.join(differences)}): give "
            "another checkpoint, or delete this one to begin anew."
        )
    columns = {n.removeprefix(HISTORY): a for n, a in arrays.items() if n.startswith(HISTORY)}
    named = {name: array for name, array in arrays.items() if not name.startswith(HISTORY)}
    leaves, structure = jax.tree.flatten(like[:3])
    expected = {f"{i:04}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    if not (_are_like(named, expected) and _are_histories(columns, len(like.histories))):
        raise UserError(
            f"the checkpoint {path} is damaged, or of an earlier version: delete it to begin anew."
        )
    weights, optimiser, best = jax.tree.unflatten(structure, [named[name] for name in expected])
    return TrainingState(weights, optimiser, best, _histories(columns))


def _are_like(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> bool:
    """Whether all arrays are there, of the same shapes and types, and hold numbers."""
    return found.keys() == expected.keys() and all(
        (array.shape, array.dtype) == (expected[name].shape, expected[name].dtype)
        and np.isfinite(array).all()
        for name, array in found.items()
    )


def _columns(histories: list[list[EpochRow]]) -> dict[str, np.ndarray]:
    """Each term, of every process and epoch; NaN where there is none."""
    names = dict.fromkeys(name for row in histories[0] for name in row)
    return {
        name: np.array([[row.get(name, np.nan) for row in rows] for rows in histories], float)
        for name in names
    }


def _are_histories(columns: Mapping[str, np.ndarray], number: int) -> bool:
    """Whether these are terms of so many processes, epoch by epoch: numbers, or NaN for none."""
    epochs = columns.get("epoch")
    if epochs is None or epochs.ndim != 2 or len(epochs) != number or epochs.size == 0:
        return False
    return bool((epochs == np.arange(1, epochs.shape[1] + 1)).all()) and all(
        column.shape == epochs.shape and column.dtype == np.float64 and not np.isinf(column).any()
        for column in columns.values()
    )


def _histories(columns: Mapping[str, np.ndarray]) -> list[list[EpochRow]]:
    number, epochs = columns["epoch"].shape
    return [
        [
            {"epoch": epoch + 1}
            | {
                name: float(column[i, epoch])
                for name, column in columns.items()
                if name != "epoch" and not np.isnan(column[i, epoch])
            }
            for epoch in range(epochs)
        ]
        for i in range(number)
    ]
