"""Where a forecaster comes from, as its file says it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat


class _Known(BaseModel):
    """What must be there; a later version may say more."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


class DataProvenance(_Known):
    """Of the series that were trained on."""

    fingerprint: str
    series: int = Field(ge=1)
    gaps: bool
    digests: str = ""


class Judgement(_Known):
    """How a part did on series that it had not seen; the error of each observed column."""

    rmse: dict[str, FiniteFloat]
    coverage_90: FiniteFloat
    log_likelihood: FiniteFloat
    crps: FiniteFloat


class Provenance(_Known):
    """Data, seed, versions, and how training went."""

    data: DataProvenance
    seed: int = Field(ge=0)
    versions: dict[str, str]
    python: str
    seconds: FiniteFloat = Field(ge=0)
    epochs: int = Field(ge=1)
    interrupted: bool
    best_epoch: int = Field(ge=1)
    validation: dict[str, FiniteFloat]
    out_of_fold: dict[str, Judgement] = {}
    """By the name of a part, and of the blend of all."""
    weights: dict[str, FiniteFloat] = {}
    positive: list[str] = []
    """Observed columns that were found to be better forecast as logarithms."""
    tried: dict[str, FiniteFloat] = {}
    """Where settings were chosen: the CRPS of each on runs left out, by what was changed."""
    asked: dict[str, Any] = {}
    """And the settings that were asked for, of which some were changed."""
