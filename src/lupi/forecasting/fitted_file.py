"""A trained forecaster as one file."""

import os
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lupi._machinery.array_files import Header, read_arrays, write_arrays
from lupi._machinery.module_arrays import arrays_of, module_of
from lupi._machinery.open_files import File, name_of
from lupi.blending import Calibration, Correction, Share
from lupi.data.normalisation import Normalisation
from lupi.data.series_table import Columns
from lupi.errors import UserError, settings_problem
from lupi.forecasting.fitted import NETWORKS, Fitted, Member, Part
from lupi.forecasting.provenance import Provenance
from lupi.forecasting.settings import ForecasterSettings
from lupi.inference import Family
from lupi.inference.family import latent_size
from lupi.models.process_file import ProcessDescription, process_of, upgraded, weights_of
from lupi.plain import PLAIN

FAMILY, WHOLE, CALIBRATION, SHARE = "family.", "whole.", "calibration.", "share."
CORRECTION = "correction."
OF_BLEND = ("part.", SHARE, CALIBRATION, CORRECTION, WHOLE)


class Contents(BaseModel):
    """What the header says."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    settings: ForecasterSettings
    process: ProcessDescription
    normalisation: Normalisation
    columns: Columns
    provenance: Provenance
    versions: dict[str, str]
    members: list[Normalisation] = Field(default=[], max_length=64)
    """Of each member; none where there is one, whose units are those of all."""
    parts: dict[str, Annotated[float, Field(ge=0, le=1)]] = {}
    """The weights of a blend, in the mean."""

    @classmethod
    def of(cls, header: Header, path: str | os.PathLike) -> "Contents":
        """What a header says, once it is sure that all of it belongs together."""
        try:
            contents = cls.model_validate(_upgraded(header))
            _check_together(contents)
        except (ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
            what = settings_problem(error) or repr(error)
            raise UserError(
                f"the header of {path} does not say what the model is ({what:.300}): restore "
                "the file or train the model again."
            ) from None
        return contents


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
        arrays |= arrays_of(part.share, f"{SHARE}{name}.")
        arrays |= arrays_of(part.calibration, f"{CALIBRATION}{name}.")
        arrays |= arrays_of(part.correction, f"{CORRECTION}{name}.")
    arrays |= arrays_of(fitted.whole, WHOLE)
    try:
        contents = Contents(
            settings=settings,
            process=description,
            normalisation=fitted.normalisation,
            columns=fitted.columns,
            provenance=Provenance.model_validate(fitted.provenance),
            versions=fitted.provenance["versions"],
            members=[member.normalisation for member in members] if len(members) > 1 else [],
            parts={name: part.weight for name, part in fitted.parts.items()},
        )
    except ValidationError as error:
        raise UserError(
            f"{complaint}, as it could not be read again ({settings_problem(error)!s:.300}): look "
            "for values far from all others in the data."
        ) from None
    header = contents.model_dump(mode="json") | {"provenance": fitted.provenance}
    write_arrays(file, arrays, header, kind="forecaster")


def load_fitted(file: File) -> tuple[Fitted, ForecasterSettings]:
    """Read what `save_fitted` wrote, once it is sure that all of it belongs together."""
    path = name_of(file)
    header, arrays = read_arrays(file, kind="forecaster")
    contents, complaint = Contents.of(header, path), f"{path} is damaged"
    normalisations = contents.members or [contents.normalisation]
    blended = {n: a for n, a in arrays.items() if n.startswith(OF_BLEND)}
    own = {name: array for name, array in arrays.items() if name not in blended}
    columns = contents.columns
    sizes = {"observation": len(columns.observed), "privileged": len(columns.privileged)}
    members = []
    for i, normalisation in enumerate(normalisations):
        prefix = _prefix(i, len(normalisations))
        named = {n.removeprefix(prefix): a for n, a in own.items() if n.startswith(prefix)}
        weights = {n: a for n, a in named.items() if not n.startswith(FAMILY)}
        process = process_of(weights, header["format"], contents.process, complaint)
        family = module_of(Family, named, FAMILY, complaint, sizes)
        if family is not None and len(family.centre) != latent_size(process):
            raise UserError(
                f"{complaint}: expected a z of {latent_size(process)} numbers, found "
                f"{len(family.centre)}: restore the file or train again."
            )
        members.append(Member(process, family, normalisation))

    def part(name: str, weight: float) -> Part:
        calibration = module_of(Calibration, blended, f"{CALIBRATION}{name}.", complaint, sizes)
        kind = PLAIN.get(name)
        predictor = kind and module_of(kind, blended, f"part.{name}.", complaint, sizes)
        if calibration is None or (kind is not None and predictor is None):
            raise UserError(f"{complaint}: there is no {name}: restore the file or train again.")
        # A file from before weights followed the context has none.
        share = module_of(Share, blended, f"{SHARE}{name}.", complaint, sizes)
        share = share or Share.constant(weight)
        # None is corrected but networks, and not all of these.
        correction = None
        if kind is None:
            correction = module_of(Correction, blended, f"{CORRECTION}{name}.", complaint, sizes)
        return Part(predictor, weight, share, calibration, correction)

    parts = {name: part(name, weight) for name, weight in contents.parts.items()}
    whole = module_of(Calibration, blended, WHOLE, complaint, sizes)
    if (whole is None) != (not parts):
        raise UserError(f"{complaint}: a part of its blend is missing: restore the file.")
    settings = contents.settings
    fitted = Fitted(
        settings,
        members,
        contents.normalisation,
        columns,
        contents.provenance.model_dump(exclude_unset=True),
        parts,
        whole,
    )
    return fitted, settings


def _prefix(i: int, number: int) -> str:
    return "" if number == 1 else f"member.{i}."


def _check_together(contents: Contents) -> None:
    """Raise where a unit or a weight is not one of this model, or is none at all."""
    columns, process, parts = contents.columns, contents.process, contents.parts
    sizes = {
        "observed": len(columns.observed),
        "privileged": len(columns.privileged),
        "known": process.input_size,
    }
    if process.observation_size != sizes["observed"]:
        raise ValueError(
            f"{sizes['observed']} observed columns, of a model of {process.observation_size}"
        )
    if process.privileged_size not in (0, sizes["privileged"]):
        raise ValueError(
            f"{sizes['privileged']} privileged columns, of a model of {process.privileged_size}"
        )
    if process.settings != contents.settings.process:
        raise ValueError("the settings are not those of the model")
    for units in (contents.normalisation, *contents.members):
        scales, others = [units.time_scale], [units.time_start]
        for name, size in sizes.items():
            mean, scale = getattr(units, f"{name}_mean"), getattr(units, f"{name}_scale")
            if len(mean) != size or len(scale) != size:
                raise ValueError(f"expected units of {size} {name} columns, found {len(mean)}")
            scales, others = [*scales, *scale], [*others, *mean]
        ranges = units.known_least, units.known_most
        if {len(end) for end in ranges} not in ({0}, {sizes["known"]}):
            raise ValueError(f"ranges of {len(units.known_least)} known columns")
        others += [*units.known_least, *units.known_most]
        if len(units.limits) not in (0, sizes["observed"]):
            raise ValueError(f"limits of {len(units.limits)} columns")
        if not (np.isfinite([*scales, *others]).all() and min(scales) > 0):
            raise ValueError("units that are no numbers, or a scale that is not positive")
    unknown = parts.keys() - {NETWORKS, *PLAIN}
    if unknown:
        raise ValueError(f"unknown parts {sorted(unknown)}")
    if parts and (NETWORKS not in parts or abs(sum(parts.values()) - 1) > 1e-3):
        raise ValueError("weights of parts that are not a whole")


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
