"""A process as one file: safetensors, its settings as JSON in the header. No pickle."""

import json
import os
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from lupi.errors import UserError
from lupi.files import write_atomically
from lupi.models.process import NeuralODEProcess, build_process
from lupi.models.settings import ProcessSettings

FORMAT = 1
"""Raised when a file written before could no longer be read."""


def save_process(
    path: str | os.PathLike, process: NeuralODEProcess, settings: ProcessSettings
) -> None:
    """Write a process that `build_process(settings)` made, whatever its weights are now."""
    weights = _weights(process)
    expected = _weights(_template(settings))
    _compare_shapes(
        {name: leaf.shape for name, leaf in weights.items()},
        expected,
        f"this process cannot be saved to {path}",
        "pass the settings that it was built with.",
    )
    if jax.tree.structure(process) != jax.tree.structure(_template(settings)):
        raise UserError(
            f"this process cannot be saved to {path}: a scale or the number of solver steps is not "
            "what the settings say: pass the settings that it was built with."
        )
    header = {"lupi": json.dumps({"format": FORMAT, "settings": settings.model_dump()})}
    arrays = {name: np.asarray(leaf) for name, leaf in weights.items()}
    write_atomically(path, save(arrays, metadata=header))


def load_process(path: str | os.PathLike) -> NeuralODEProcess:
    """Read a process that `save_process` wrote; it predicts the same numbers."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"expected a model file at {path}, found none: check the path.")
    try:
        with safe_open(path, framework="numpy") as file:
            settings = _read_settings(path, file.metadata())
            template = _template(settings)
            expected = _weights(template)
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            _compare_shapes(
                found, expected, f"{path} is damaged", "restore the file or train the model again."
            )
            arrays = {name: jnp.asarray(file.get_tensor(name)) for name in expected}
    except SafetensorError as error:
        raise UserError(
            f"expected a lupi model file, but {path} is truncated or of another kind ({error}): "
            "restore the file or train the model again."
        ) from None
    return eqx.combine(_with_weights(template, arrays), template)


def _read_settings(path: Path, metadata: dict[str, str] | None) -> ProcessSettings:
    if not metadata or "lupi" not in metadata:
        raise UserError(
            f"expected a lupi model file, but {path} was written by another program: "
            "give a file that `lupi` saved."
        )
    try:
        header = json.loads(metadata["lupi"])
        if header["format"] != FORMAT:
            raise UserError(
                f"{path} has format {header['format']}, this version of lupi reads {FORMAT}: "
                "install the version that wrote it, or train the model again."
            )
        return ProcessSettings.model_validate(header["settings"])
    except (json.JSONDecodeError, KeyError, TypeError, ValidationError) as error:
        raise UserError(
            f"the header of {path} does not say what the model is ({error}): "
            "restore the file or train the model again."
        ) from None


def _template(settings: ProcessSettings):
    """The process that the settings describe, with shapes in the place of weights."""
    return eqx.filter_eval_shape(lambda: build_process(settings, key=jax.random.key(0)))


def _weights(process) -> dict:
    """The arrays of a process by their path in it, such as `decoder.mlp.layers[0].weight`."""
    leaves = jax.tree_util.tree_leaves_with_path(process)
    return {
        jax.tree_util.keystr(path).lstrip("."): leaf
        for path, leaf in leaves
        if hasattr(leaf, "shape")
    }


def _with_weights(template, arrays: dict):
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: arrays.get(jax.tree_util.keystr(path).lstrip(".")), template
    )


def _compare_shapes(found: dict[str, tuple], expected: dict, complaint: str, remedy: str) -> None:
    for name in sorted(found.keys() | expected.keys()):
        shape = expected[name].shape if name in expected else "nothing"
        if found.get(name, "nothing") != shape:
            raise UserError(
                f"{complaint}: expected {shape} at {name}, found {found.get(name, 'nothing')}: "
                f"{remedy}"
            )
