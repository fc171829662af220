"""How forecasters are built and trained: a default for data of all kinds, and the paper's."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from lupi.blending.out_of_fold import MOST_SEEN as MOST_ASKED
from lupi.data.series_table import SeriesTable
from lupi.errors import UserError, check_name, settings_problem
from lupi.models import ProcessSettings
from lupi.objectives import Elbo
from lupi.presets import PRESETS
from lupi.registry import ModelSettings, get_model
from lupi.training import TrainingSettings

FEW_VALUES = 2_000
"""Observed values of a table, below which networks are half as wide. Of five tables of 35 to
580 values four are better forecast so, by 1 to 7 % of the CRPS on runs left out, and one is worse
by 1 %: docs/real-data.md."""

SIZES = ("hidden_size", "representation_size")


class ForecasterSettings(ModelSettings):
    """How a forecaster is built and trained; `forecaster_settings` makes them from a preset."""

    model: str
    """Its name in the registry."""
    train: TrainingSettings
    members: int = Field(default=1, ge=1, le=64)
    """Networks, of which each leaves out other series; no more than there are series."""
    blend: bool = False
    """Whether the networks are blended with plain guesses, and intervals widened, by how all of
    them do on series that they have not seen."""
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """Of the series, chosen at random: not trained on, to see when training is best. Of several
    networks each leaves out its part of all series instead."""

    find_positive: bool = False
    """Whether observed columns that have no value below 0, and are better forecast as
    logarithms, are taken for positive."""

    sizes_follow_data: bool = False
    """Whether networks are half as wide as the preset's where there is little to learn from."""

    choose: bool = False
    """Whether networks with another weight of the divergence, and of another width, are trained
    too, and those taken that forecast series left out best: about three times as long."""

    def suited_to(self, series: SeriesTable) -> "ForecasterSettings":
        """The same, with networks of a size for these series if that is left to them."""
        if not self.sizes_follow_data:
            return self
        number = int((~np.isnan(series.values)).sum())
        size = PRESETS["default"].process[SIZES[0]]
        return with_sizes(self, size // 2 if number < FEW_VALUES else size)

    def num_members(self, num_series: int) -> int:
        """How many networks there are with so many series."""
        return max(1, min(self.members, num_series))

    def num_left_out(self, num_series: int) -> int:
        """How many of so many series a network is not trained on."""
        number = self.num_members(num_series)
        share = (
            math.ceil(num_series / number)
            if number > 1
            else round(self.validation_share * num_series)
        )
        return max(1, min(num_series - 1, share))

    @property
    def sizes_learnt_from(self) -> tuple[int, int]:
        """The least and the largest number of observations that training forecasts from."""
        (least, most), contexts = self.train.context_sizes, self.train.contexts
        least = 0 if contexts.none else 1 if contexts.one else least
        return least, max(most, MOST_ASKED) if self.blend else most


def with_sizes(settings: ForecasterSettings, size: int) -> ForecasterSettings:
    """The same, with networks that wide, as far as theirs have such sizes."""
    fitting = {name: size for name in SIZES if name in type(settings.process).model_fields}
    return settings.model_copy(update={"process": settings.process.model_copy(update=fitting)})


def with_weight(settings: ForecasterSettings, kl_weight: float) -> ForecasterSettings:
    """The same, with a divergence that weighs as much, if the objective has one."""
    if not hasattr(settings.objective, "kl_weight"):
        return settings
    changed = dataclasses.replace(settings.objective, kl_weight=kl_weight)  # pyright: ignore[reportCallIssue]
    return settings.model_copy(update={"objective": changed})


def forecaster_settings(
    preset: str = "default",
    *,
    model: str = "lupi",
    process: Mapping[str, Any] | ProcessSettings | None = None,
    train: Mapping[str, Any] | TrainingSettings | None = None,
    **others: Any,
) -> ForecasterSettings:
    """Settings of a preset with some of them changed.

    ```python
    lupi.forecaster_settings(model="cnp", process={"hidden_size": 64}, train={"epochs": 50})
    ```

    A dictionary changes what it names; whole settings take the place of the preset's. `others` are
    `objective`, `inference`, `uses_privileged`, `members`, `blend`, `validation_share`,
    `find_positive`, `choose` and `sizes_follow_data`, which holds unless sizes are given. The
    objective `"elbo"`, by its name alone, is the preset's bound.
    """
    check_name("preset", preset, PRESETS)
    for name, given in (("process", process), ("train", train)):
        if given is not None and not isinstance(given, Mapping | BaseModel):
            raise UserError(
                f"`{name}`: expected settings by name, such as {{'epochs': 50}}, got {given!r:.40}."
            )
    entry, chosen = get_model(model), PRESETS[preset]
    kind = type(entry.process)
    given = process.model_dump() if isinstance(process, ProcessSettings) else dict(process or {})
    follows = set(SIZES) <= set(chosen.process) and not set(SIZES) & set(given)
    if not isinstance(process, ProcessSettings):
        fitting = {k: v for k, v in chosen.process.items() if k in kind.model_fields}
        process = entry.process.model_dump() | fitting | given
    if not isinstance(train, TrainingSettings):
        train = chosen.train.model_dump() | dict(train or {})
    shared = {name: getattr(entry, name) for name in ModelSettings.model_fields}
    shared |= {"inference": chosen.inference}
    if entry.objective == Elbo():
        shared |= {"objective": chosen.objective}
    if others.get("objective") == "elbo":
        others["objective"] = chosen.objective
    shared |= {"members": chosen.members, "blend": chosen.blend}
    # A single network is taken as it is, and so are its columns.
    shared |= {"find_positive": bool(others.get("blend", chosen.blend))}
    shared |= {"sizes_follow_data": follows}
    values = shared | {"model": model, "process": process, "train": train} | others
    try:
        return ForecasterSettings.model_validate(values)
    except ValidationError as error:
        raise UserError(str(settings_problem(error))) from None
