"""What training leaves of a forecaster."""

from functools import cached_property
from typing import Any, NamedTuple

from lupi.blending import Blend, Calibration, Corrected, Correction, Ensemble, InUnits, Share, Units
from lupi.data.normalisation import Normalisation
from lupi.data.series_table import Columns
from lupi.errors import check_name
from lupi.inference import Family
from lupi.models import AbstractPredictor, AbstractProcess, without_privileged
from lupi.registry import ModelSettings

NETWORKS = "lupi"
"""What the networks are called among the parts of a blend."""


class Member(NamedTuple):
    """One network, in units of its own."""

    process: AbstractProcess
    family: Family | None
    normalisation: Normalisation


class Part(NamedTuple):
    """What a blend takes some of its samples from."""

    predictor: AbstractPredictor | None
    """None stands for the networks."""
    weight: float
    """In the mean; 0 where it has no part in forecasts, and is there to compare them with."""
    share: Share
    """Its weight, by what a context shows."""
    calibration: Calibration
    correction: Correction | None = None
    """Of the networks, where their trajectories are moved towards the points seen."""


class Fitted:
    """Networks, what they are blended with, and the data they come from."""

    def __init__(
        self,
        settings: ModelSettings,
        members: list[Member],
        normalisation: Normalisation,
        columns: Columns,
        provenance: dict[str, Any],
        parts: dict[str, Part] | None = None,
        whole: Calibration | None = None,
    ):
        """`parts` and the calibration of the `whole` are those of a blend; without one the networks
        speak for themselves."""
        self.settings, self.members, self.normalisation = settings, members, normalisation
        self.columns, self.provenance = columns, provenance
        self.parts, self.whole = parts or {}, whole

    @property
    def contents(self) -> tuple:
        """All that it is made of, as a tree."""
        parts = [self.members, self.normalisation, self.columns, self.provenance]
        return (*parts, self.parts, self.whole)

    @cached_property
    def networks(self) -> AbstractPredictor:
        """The networks alone, in the units of all series."""
        alone = [self.settings.predictor(one.process, one.family) for one in self.members]
        if len(alone) == 1:
            return alone[0]
        return Ensemble.of(
            [
                InUnits(predictor=predictor, units=Units.between(self.normalisation, own))  # pyright: ignore[reportCallIssue]
                for predictor, (*_, own) in zip(alone, self.members, strict=True)
            ]
        )

    @cached_property
    def predictor(self) -> AbstractPredictor:
        """What forecasts."""
        if self.whole is None:
            return self.networks
        # The networks always, also where they have no part: they tell of a run what no other can.
        parts = [part for part in self.parts.values() if part.weight > 0 or not part.predictor]
        return Blend(  # pyright: ignore[reportCallIssue]
            parts=tuple(self._in_blend(part) for part in parts),
            shares=tuple(part.share for part in parts),
            calibrations=tuple(part.calibration for part in parts),
            whole=self.whole,
        )

    def _in_blend(self, part: Part) -> AbstractPredictor:
        if part.correction is None:
            return part.predictor or self.networks
        return Corrected(predictor=self.networks, correction=part.correction)  # pyright: ignore[reportCallIssue]

    @cached_property
    def without_privileged(self) -> AbstractPredictor:
        """What forecasts where no privileged value is known, as hardly any is: the same program
        whether training had some or not, so that models of the same sizes share it."""
        return without_privileged(self.predictor)

    def alone(self, name: str) -> AbstractPredictor:
        """A part of the blend, by its name, as it is."""
        check_name("part of the forecaster", name, {NETWORKS: None} | self.parts)
        part = self.parts.get(name)
        return self.networks if part is None or part.predictor is None else part.predictor
