"""A trained forecaster as one file."""

import os
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lupi._machinery.array_files import read_arrays, read_header, read_open, write_arrays
from lupi._machinery.module_arrays import arrays_of, module_of
from lupi._machinery.open_files import File, name_of
from lupi.blending import Calibration
from lupi.data.normalisation import Normalisation
from lupi.data.series_table import Columns
from lupi.errors import UserError
from lupi.forecasting.fitted import NETWORKS, Fitted, Member, Part
from lupi.forecasting.settings import ForecasterSettings
from lupi.inference import Family
from lupi.models.process_file import ProcessDescription, process_of, upgraded, weights_of
from lupi.plain import PLAIN

FAMILY, WHOLE, CALIBRATION = "family.", "whole.", "calibration."


class _Contents(BaseModel):
    """What the header says, beside versions."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    settings: ForecasterSettings
    process: ProcessDescription
    normalisation: Normalisation
    columns: Columns
    provenance: dict[str, Any]
    members: list[Normalisation] = Field(default=[], max_length=64)
    """Of each member; none where there is one, whose units are those of all."""
    parts: dict[str, float] = {}
    """The weights of a blend."""


def save_fitted(file: File, fitted: Fitted, settings: ForecasterSettings) -> None:
    """Write everything into one file: weights, settings, normalisation, columns, provenance."""
    members = fitted.members
    description = ProcessDescription.of(members[0].process, settings.process)
    complaint = f"this forecaster cannot be saved to {name_of(file)}"
    arrays: dict[str, np.ndarray] = {}
    for i, member in enumerate(members):
        prefix = _prefix(i, len(members))
        weights = weights_of(member.process, description, complaint)
        arrays |= {prefix + name: array for name, array in weights.items()}
        arrays |= arrays_of(member.family, prefix + FAMILY)
    for name, part in fitted.parts.items():
        arrays |= arrays_of(part.predictor, f"part.{name}.")
        arrays |= arrays_of(part.calibration, f"{CALIBRATION}{name}.")
    arrays |= arrays_of(fitted.whole, WHOLE)
    contents = _Contents(
        settings=settings,
        process=description,
        normalisation=fitted.normalisation,
        columns=fitted.columns,
        provenance=fitted.provenance,
        members=[member.normalisation for member in members] if len(members) > 1 else [],
        parts={name: part.weight for name, part in fitted.parts.items()},
    )
    header = contents.model_dump(mode="json") | {"versions": fitted.provenance["versions"]}
    write_arrays(file, arrays, header, kind="forecaster")


def load_fitted(file: File) -> tuple[Fitted, ForecasterSettings]:
    """Read what `save_fitted` wrote, once it is sure that all of it belongs together."""
    path, kind = name_of(file), "forecaster"
    if isinstance(file, str | os.PathLike):
        header, arrays = read_header(path, kind=kind)[0], read_arrays(path)
    else:
        header, arrays = read_open(file, kind=kind)
    try:
        header = _upgraded(header)
        contents = _Contents.model_validate(header)
        unknown = contents.parts.keys() - {NETWORKS, *PLAIN}
        if unknown:
            raise ValueError(f"unknown parts {sorted(unknown)}")
    except (ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"the header of {path} does not say what the model is ({error}): restore the file "
            "or train the model again."
        ) from None
    complaint = f"{path} is damaged"
    normalisations = contents.members or [contents.normalisation]
    blended = {n: a for n, a in arrays.items() if n.startswith(("part.", CALIBRATION, WHOLE))}
    own = {name: array for name, array in arrays.items() if name not in blended}
    members = []
    for i, normalisation in enumerate(normalisations):
        prefix = _prefix(i, len(normalisations))
        named = {n.removeprefix(prefix): a for n, a in own.items() if n.startswith(prefix)}
        weights = {n: a for n, a in named.items() if not n.startswith(FAMILY)}
        process = process_of(weights, header["format"], contents.process, complaint)
        family = module_of(Family, named, FAMILY, complaint)
        members.append(Member(process, family, normalisation))

    def part(name: str, weight: float) -> Part:
        calibration = module_of(Calibration, blended, f"{CALIBRATION}{name}.", complaint)
        kind = PLAIN.get(name)
        predictor = kind and module_of(kind, blended, f"part.{name}.", complaint)
        if calibration is None or (kind is not None and predictor is None):
            raise UserError(f"{complaint}: there is no {name}: restore the file or train again.")
        return Part(predictor, weight, calibration)

    parts = {name: part(name, weight) for name, weight in contents.parts.items()}
    whole = module_of(Calibration, blended, WHOLE, complaint)
    if (whole is None) != (not parts):
        raise UserError(f"{complaint}: a part of its blend is missing: restore the file.")
    settings = contents.settings
    fitted = Fitted(
        settings,
        members,
        contents.normalisation,
        contents.columns,
        dict(contents.provenance),
        parts,
        whole,
    )
    return fitted, settings


def _prefix(i: int, number: int) -> str:
    return "" if number == 1 else f"member.{i}."


def _upgraded(header: dict[str, Any]) -> dict[str, Any]:
    """The header of a file of an earlier format, as it would be written now."""
    if header["format"] < 3:
        process = upgraded(header["process"])
        train = dict(header["settings"]["train"])
        process["settings"] |= {"training_solver_steps": train.pop("solver_steps")}
        settings = header["settings"] | {"model": "lupi", "train": train}
        settings["process"] = process["settings"]
        header = header | {"settings": settings, "process": process}
    if header["format"] < 4:
        settings = header["settings"] | {"members": 1, "blend": False}
        header = header | {"settings": settings}
    return header
