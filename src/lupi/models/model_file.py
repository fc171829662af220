"""A process as one file: its weights, and its settings in the header."""

import os
from collections.abc import Mapping

import equinox as eqx
import jax
import numpy as np
from pydantic import ValidationError

from lupi.array_file import read_arrays, read_header, write_arrays
from lupi.errors import UserError
from lupi.models.process import NeuralODEProcess, build_process
from lupi.models.settings import ProcessSettings


def save_process(
    path: str | os.PathLike, process: NeuralODEProcess, settings: ProcessSettings
) -> None:
    """Write a process that `build_process(settings)` made, whatever its weights are now."""
    arrays = weights_of(process, settings, f"this process cannot be saved to {path}")
    write_arrays(path, arrays, {"settings": settings.model_dump()}, kind="process")


def load_process(path: str | os.PathLike) -> NeuralODEProcess:
    """Read a process that `save_process` wrote; it predicts the same numbers."""
    header, shapes = read_header(path, kind="process")
    try:
        settings = ProcessSettings.model_validate(header.get("settings"))
    except ValidationError as error:
        raise UserError(
            f"the header of {path} does not say what the model is ({error}): "
            "restore the file or train the model again."
        ) from None
    check_weights(shapes, settings, f"{path} is damaged")
    return with_weights(settings, read_arrays(path))


def weights_of(
    process: NeuralODEProcess, settings: ProcessSettings, complaint: str
) -> dict[str, np.ndarray]:
    """The arrays of a process by name, once it is sure that they fit the settings."""
    weights = _weights(process)
    template = _template(settings)
    remedy = "pass the settings that it was built with."
    shapes = {name: leaf.shape for name, leaf in weights.items()}
    _compare_shapes(shapes, _weights(template), complaint, remedy)
    if jax.tree.structure(process) != jax.tree.structure(template):
        raise UserError(
            f"{complaint}: a scale or the number of solver steps is not what the settings say: "
            f"{remedy}"
        )
    return {name: np.asarray(leaf) for name, leaf in weights.items()}


def check_weights(
    shapes: Mapping[str, tuple[int, ...]], settings: ProcessSettings, complaint: str
) -> None:
    """Make sure that arrays of these shapes are the weights of a process of these settings."""
    expected = _weights(_template(settings))
    _compare_shapes(shapes, expected, complaint, "restore the file or train the model again.")


def with_weights(settings: ProcessSettings, arrays: Mapping[str, np.ndarray]) -> NeuralODEProcess:
    """The process of these settings with these weights."""
    template = _template(settings)
    weights = jax.tree_util.tree_map_with_path(
        lambda path, leaf: jax.device_put(arrays[_name(path)]) if hasattr(leaf, "shape") else None,
        template,
    )
    return eqx.combine(weights, template)


def _template(settings: ProcessSettings):
    """The process that the settings describe, with shapes in the place of weights."""
    return eqx.filter_eval_shape(lambda: build_process(settings, key=jax.random.key(0)))


def _weights(process) -> dict:
    """The arrays of a process by their path in it, such as `decoder.mlp.layers[0].weight`."""
    leaves = jax.tree_util.tree_leaves_with_path(process)
    return {_name(path): leaf for path, leaf in leaves if hasattr(leaf, "shape")}


def _name(path) -> str:
    return jax.tree_util.keystr(path).lstrip(".")


def _compare_shapes(found: Mapping, expected: Mapping, complaint: str, remedy: str) -> None:
    for name in sorted(found.keys() | expected.keys()):
        shape = expected[name].shape if name in expected else "nothing"
        if found.get(name, "nothing") != shape:
            raise UserError(
                f"{complaint}: expected {shape} at {name}, found {found.get(name, 'nothing')}: "
                f"{remedy}"
            )
