"""A process as one file: its weights, and its settings in the header."""

import os
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lupi._machinery.array_files import read_arrays, write_arrays
from lupi.errors import UserError, settings_problem
from lupi.models.kinds import AnyProcessSettings
from lupi.models.process import AbstractProcess
from lupi.models.settings import ProcessSettings, Size, built


class ProcessDescription(BaseModel):
    """What a file says of a process, so that its weights can be put in their places."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: AnyProcessSettings
    observation_size: Size
    privileged_size: int = Field(ge=0, le=2**14)
    input_size: int = Field(default=0, ge=0, le=2**14)

    @classmethod
    def of(cls, process: AbstractProcess, settings: ProcessSettings) -> "ProcessDescription":
        """Of a process that `build_process` made of these settings."""
        return cls(
            settings=settings,
            observation_size=process.observation_size,
            privileged_size=process.privileged_size,
            input_size=process.input_size,
        )

    def template(self) -> AbstractProcess:
        """Such a process, with shapes in the place of weights."""
        return built(self.settings, self.observation_size, self.privileged_size, self.input_size)


def save_process(
    path: str | os.PathLike, process: AbstractProcess, settings: ProcessSettings
) -> None:
    """Write a process that `build_process` made of these settings, whatever its weights are now."""
    description = ProcessDescription.of(process, settings)
    arrays = weights_of(process, description, f"this process cannot be saved to {path}")
    write_arrays(path, arrays, {"process": description.model_dump(mode="json")}, kind="process")


def load_process(path: str | os.PathLike) -> AbstractProcess:
    """Read a process that `save_process` wrote; it predicts the same numbers."""
    header, arrays = read_arrays(path, kind="process")
    try:
        if header["format"] < 3:
            header["process"] = upgraded(header["settings"])
        description = ProcessDescription.model_validate(header["process"])
    except (ValidationError, KeyError, TypeError, AttributeError) as error:
        what = settings_problem(error) or repr(error)
        raise UserError(
            f"the header of {path} does not say what the model is ({what:.300}): "
            "restore the file or train the model again."
        ) from None
    return process_of(arrays, header["format"], description, f"{path} is damaged")


def process_of(
    arrays: Mapping[str, np.ndarray],
    file_format: int,
    description: ProcessDescription,
    complaint: str,
) -> AbstractProcess:
    """The process of these arrays, once it is sure that they are the weights of such a process."""
    if file_format < 3:
        arrays = {_present_name(name): array for name, array in arrays.items()}
    found = {name: array.shape for name, array in arrays.items()}
    remedy = "restore the file or train the model again."
    _compare_shapes(found, _weights(description.template()), complaint, remedy)
    for name, array in arrays.items():
        if array.dtype != np.float32:
            raise UserError(
                f"{complaint}: expected float32 at {name}, found {array.dtype}: {remedy}"
            )
        if not np.isfinite(array).all():
            raise UserError(f"{complaint}: {name} holds numbers that are not finite: {remedy}")
    return _with_weights(description, arrays)


def weights_of(
    process: AbstractProcess, description: ProcessDescription, complaint: str
) -> dict[str, np.ndarray]:
    """The arrays of a process by name, once it is sure that they fit its description."""
    weights = _weights(process)
    template = description.template()
    remedy = "pass the settings that it was built with."
    shapes = {name: leaf.shape for name, leaf in weights.items()}
    _compare_shapes(shapes, _weights(template), complaint, remedy)
    if jax.tree.structure(process) != jax.tree.structure(template):
        raise UserError(
            f"{complaint}: a scale or another number in it is not what the settings say: {remedy}"
        )
    return {name: np.asarray(leaf) for name, leaf in weights.items()}


def _with_weights(
    description: ProcessDescription, arrays: Mapping[str, np.ndarray]
) -> AbstractProcess:
    template = description.template()
    chosen = jax.tree_util.tree_map_with_path(
        lambda path, leaf: jax.device_put(arrays[_name(path)]) if hasattr(leaf, "shape") else None,
        template,
    )
    return eqx.combine(chosen, template)


RENAMED = {"privileged_encoder.": "privileged.encoder.", "residual_aggregator.": "privileged."}
"""What parts were called in files of formats 1 and 2."""


def _present_name(name: str) -> str:
    for old, new in RENAMED.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def upgraded(settings: dict[str, Any]) -> dict[str, Any]:
    """The description of a process in files of formats 1 and 2, as it would be written now."""
    sizes = {"observation_size", "privileged_size"}
    return {
        "settings": {"kind": "neural-ode-process"}
        | {name: value for name, value in settings.items() if name not in sizes},
        "observation_size": settings["observation_size"],
        "privileged_size": settings.get("privileged_size", 0),
    }


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
