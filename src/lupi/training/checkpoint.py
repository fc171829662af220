"""Training on disk: after a crash, or tomorrow, it goes on as if it had never stopped."""

import os
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lupi._machinery.array_files import read_arrays, read_header, write_arrays
from lupi._machinery.files import remove_partial
from lupi.errors import UserError
from lupi.training.loop import TrainingState


def save_checkpoint(
    path: str | os.PathLike, state: TrainingState, *, identity: dict[str, Any]
) -> None:
    """Write a state of training, whole or not at all.

    `identity` says, in JSON, what is being trained on what: only the same training may go on.
    """
    leaves = jax.device_get(jax.tree.leaves(state[:3]))
    arrays = {f"{i:04}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    header = {"identity": identity, "histories": state.histories}
    write_arrays(path, arrays, header, kind="checkpoint")


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
    header, shapes = read_header(path, kind="checkpoint")
    differences = _differences(header["identity"], identity)
    if differences:
        raise UserError(
            f"the checkpoint {path} is of another training ({'; '.join(differences)}): give "
            "another checkpoint, or delete this one to begin anew."
        )
    leaves, structure = jax.tree.flatten(like[:3])
    expected = {f"{i:04}": np.shape(leaf) for i, leaf in enumerate(leaves)}
    if shapes != expected:
        raise UserError(f"the checkpoint {path} is damaged: delete it to begin anew.")
    arrays = read_arrays(path)
    weights, optimiser, best = jax.tree.unflatten(structure, [arrays[name] for name in expected])
    return TrainingState(weights, optimiser, best, header["histories"])
