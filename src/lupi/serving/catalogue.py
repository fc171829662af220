"""The models that are served, and what is told of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lupi.data.known import expanded_names
from lupi.data.normalisation import Normalisation
from lupi.data.series_table import Columns, original_times
from lupi.errors import UserError, check_name
from lupi.experiments.paper import EXPERIMENTS
from lupi.forecasting import Forecaster
from lupi.registry import INFERENCES, MODELS
from lupi.serving.built_in import BUILT_IN, load_built_in
from lupi.serving.contract import ModelInfo

SHOWN = 2.5
"""Standard deviations to both sides of the mean: the values that a panel shows at first."""

SOME_MONDAY = 978307200.0
"""2001-01-01, in seconds since 1970, which begins a day, a week and a year: where the axis of runs
with dates of their own begins."""


@dataclass(frozen=True)
class Served:
    """A model by its name."""

    name: str
    forecaster: Forecaster
    file: str | None = None
    """What its file is called; none of a built-in one."""
    system: str | None = None
    """The built-in system that it is of, whose truth can be had."""

    @cached_property
    def _others(self) -> dict[str, Forecaster]:
        return {}

    @property
    def inference(self) -> str:
        """The name of its own inference."""
        own = type(self.forecaster.settings.inference)
        return next(name for name, kind in INFERENCES.items() if kind is own)

    def asked(self, inference: str | None) -> Forecaster:
        """The forecaster with an inference by its name, or with its own."""
        if inference is None or inference == self.inference:
            return self.forecaster
        check_name("inference", inference, INFERENCES)
        if inference not in self._others:  # the same object: what it compiles is found again
            self._others[inference] = self.forecaster.with_inference(inference)
        return self._others[inference]

    def times(self, number: int) -> list[Any]:
        """So many times over all that it has learnt from, as JSON has them."""
        units = self.forecaster.normalisation
        first = units.time_start + (SOME_MONDAY if units.own_clock else 0.0)
        seconds = np.linspace(first, first + units.time_scale, number)
        return [as_json(time) for time in original_times(self.forecaster.columns, seconds)]

    def info(self) -> ModelInfo:
        """What clients are told of it."""
        columns, units = self.forecaster.columns, self.forecaster.normalisation
        settings, provenance = self.forecaster.settings, self.forecaster.provenance
        ends = np.array([[-1.0], [1.0]])
        observed = units.to_original_values(SHOWN * ends * np.ones(len(columns.observed)))
        privileged = units.to_original_privileged(2.0 * ends * np.ones(len(columns.privileged)))
        experiment = EXPERIMENTS.get(self.system or "")
        return ModelInfo(
            name=self.name,
            label=MODELS[settings.model].label if settings.model in MODELS else settings.model,
            title=experiment.title if experiment else self.name,
            system=self.system,
            file=self.file,
            time=columns.time,
            series=columns.series,
            observed=list(columns.observed),
            privileged=list(columns.privileged),
            known=list(columns.known),
            known_usual=_usual(columns, units),
            categories={name: list(kinds) for name, kinds in columns.categories.items()},
            units=columns.units,
            dates=columns.datetime,
            clock=columns.clock if units.own_clock else "common",
            origin=_date(columns, SOME_MONDAY) if units.own_clock else None,
            gaps=provenance["data"]["gaps"],
            span=self.times(2),
            ranges=dict(zip(columns.observed, observed.T.tolist(), strict=True)),
            privileged_ranges=dict(zip(columns.privileged, privileged.T.tolist(), strict=True)),
            inference=self.inference,
            learnt_from=settings.sizes_learnt_from,
            trained_on=provenance["data"]["series"],
        )


def _date(columns: Columns, seconds: float) -> str:
    return as_json(original_times(columns, np.array([seconds]))[0])


def _usual(columns: Columns, units: Normalisation) -> dict[str, float | str]:
    """The mean of each known column, or the first of its categories."""
    names = expanded_names(columns.known, columns.categories)
    means = dict(zip(names, units.known_mean, strict=True))
    return {
        name: columns.categories[name][0]
        if name in columns.categories
        else float(f"{means[name]:.3g}")
        for name in columns.known
    }


def as_json(value: Any) -> Any:
    """A time or a label as JSON has it: a number, text, or nothing."""
    if isinstance(value, np.datetime64) or hasattr(value, "isoformat"):
        import pandas as pd

        return pd.Timestamp(value).isoformat()
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


class Catalogue:
    """All models that are served, the first of them by default."""

    def __init__(self, models: Sequence[Served]):
        self.models = {served.name: served for served in models}

    def get(self, name: str | None) -> Served:
        """The model of that name, or the first."""
        if name is None:
            return next(iter(self.models.values()))
        check_name("model", name, self.models)
        return self.models[name]

    @classmethod
    def of_files(cls, paths: Sequence[Path]) -> "Catalogue":
        """The models of these files, or the built-in ones where there are none."""
        if not paths:
            return cls(
                [Served(name, load_built_in(name), system=of) for name, of in BUILT_IN.items()]
            )
        twice = {path.stem for path in paths if [one.stem for one in paths].count(path.stem) > 1}
        if twice:
            raise UserError(
                f"two models would be called {', '.join(sorted(twice))}: a model is served under "
                "the name of its file, so rename one of them."
            )
        return cls([Served(path.stem, Forecaster.load(path), file=path.name) for path in paths])
