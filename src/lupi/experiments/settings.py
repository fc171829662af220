"""What decides a run's numbers beside its experiment, frozen."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from lupi import __version__
from lupi.data.series_table import SeriesTable
from lupi.data.split import RANDOM
from lupi.errors import UserError
from lupi.experiments.controls import Control
from lupi.experiments.experiment import Experiment
from lupi.experiments.paper import EXPERIMENTS
from lupi.objectives import Elbo
from lupi.presets import BEST
from lupi.registry import MODELS, ModelSettings
from lupi.training import TrainingSettings
from lupi.training.settings import Sizes


class DataSettings(BaseModel):
    """How much a model learns from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_training: int = Field(default=400, ge=1)
    num_validation: int = Field(default=100, ge=1)
    num_times: int = Field(default=51, ge=2)
    """Samples of a simulated training series, evenly spaced from 0 to the horizon."""
    noise: float = Field(default=0.0, ge=0)
    """Of every observation of simulated systems, in standard deviations of each quantity."""
    between: bool = False
    """Whether simulated training series are learnt from between their samples too, where they are
    smooth enough for the samples to tell what is there."""
    privileged: Control = "true"
    """What is learnt from as privileged values; those of test systems are always the true ones."""


class EvaluationSettings(BaseModel):
    """How a model is judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_systems: int = Field(default=500, ge=2)
    num_times: int = Field(default=100, ge=2)
    """Samples of a simulated test series, evenly spaced from 0 to the horizon."""
    num_samples: int = Field(default=32, ge=2)
    """Samples of z."""
    context_sizes: Sizes = (5, 9)
    refined: bool = False
    """Whether a model with a latent is judged with the search in its decoder too."""
    points: tuple[Annotated[int, Field(ge=0, le=1000)], ...] = ()
    """Numbers of points, for each of which it is judged once more."""
    beyond: tuple[Annotated[float, Field(ge=0)], ...] = ()
    """Times beyond the last point, in horizons, between which it is judged from points of the first
    third alone."""


class RunSettings(BaseModel):
    """All that decides the numbers of a run, but for its model and seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: DataSettings = DataSettings()
    training: TrainingSettings = TrainingSettings()
    evaluation: EvaluationSettings = EvaluationSettings()


class ReproductionSettings(BaseModel):
    """What all runs in one output folder share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = __version__
    """Of lupi: another version may give other numbers."""
    preset: str = "paper"
    """What models and training began with."""
    experiments: dict[str, RunSettings]
    models: dict[str, ModelSettings] = Field(default_factory=lambda: _models())
    """Every model of the registry, whether it is run or not; or those of a comparison."""
    rivals: tuple[str, ...] = ()
    """Of the table of rivals, those that take part."""


def _models(changes: Mapping[str, Any] | None = None, **process: Any) -> dict[str, ModelSettings]:
    """Every model of the registry, changed, and its process where it has such settings."""
    fields = set(ModelSettings.model_fields)
    models = {}
    for name, model in MODELS.items():
        values = {field: getattr(model, field) for field in fields} | dict(changes or {})
        if model.objective != Elbo():
            values["objective"] = model.objective
        known = {k: v for k, v in process.items() if k in type(model.process).model_fields}
        values["process"] = model.process.model_copy(update=known)
        models[name] = ModelSettings.model_validate(values)
    return models


def paper_settings(*, epochs: int | None = None, noise: float = 0.0) -> ReproductionSettings:
    """The paper's sizes, and each experiment's epochs unless `epochs` is given."""
    return ReproductionSettings(
        experiments={
            name: RunSettings(
                data=DataSettings(noise=noise),
                training=TrainingSettings(epochs=epochs or experiment.epochs),
            )
            for name, experiment in EXPERIMENTS.items()
        }
    )


def best_settings(*, epochs: int | None = None, noise: float = 0.0) -> ReproductionSettings:
    """The same data and contexts; of the model and its training, what forecasts best."""
    training = BEST.train.model_copy(
        update={
            "context_sizes": (5, 9),
            "contexts": RANDOM,
            "target_sizes": (40, 51),
            "keep_best": False,
        }
    )
    data = DataSettings(noise=noise, between=True)
    run = RunSettings(
        data=data,
        training=training.model_copy(
            update={"epochs": epochs or training.num_epochs(data.num_training)}
        ),
        evaluation=EvaluationSettings(num_samples=64),
    )
    changes = {"objective": BEST.objective, "inference": BEST.inference}
    return ReproductionSettings(
        preset="best",
        experiments=dict.fromkeys(EXPERIMENTS, run),
        models=_models(changes, **BEST.process | {"marks_gaps": False}),
    )


REPRODUCTIONS = {"paper": paper_settings, "best": best_settings}
"""By the name of a preset."""


def quick_settings(
    *, epochs: int | None = None, preset: str = "paper", noise: float = 0.0
) -> ReproductionSettings:
    """A smoke run: every step of the real one on next to no data. Its numbers mean nothing."""
    whole = REPRODUCTIONS[preset](epochs=epochs or 2, noise=noise)
    runs = {
        name: RunSettings(
            data=run.data.model_copy(update={"num_training": 16, "num_validation": 4}),
            training=run.training,
            evaluation=EvaluationSettings(num_systems=20, num_samples=8),
        )
        for name, run in whole.experiments.items()
    }
    return whole.model_copy(update={"experiments": runs})


def table_settings(
    experiments: Mapping[str, Experiment],
    *,
    epochs: int | None = None,
    training: TrainingSettings | None = None,
    validation_share: float = 0.1,
    test_share: float = 0.2,
) -> ReproductionSettings:
    """The paper's settings for tables of any number and length of series, with gaps or without.

    Contexts have at most half of the points that a series has (in the median), targets at most all
    of them. Unless `epochs` or `training` say how many, there are as many epochs as make 20,000
    steps. To train as a `Forecaster` does, give `lupi.forecaster_settings().train`.
    """
    training = training or TrainingSettings(epochs=None)
    runs = {}
    for name, experiment in experiments.items():
        series = experiment.source
        if not isinstance(series, SeriesTable):
            raise UserError(
                f"expected experiments on tables, got {name!r}, which is simulated: put together "
                "`ReproductionSettings` for it."
            )
        num_validation = max(1, round(validation_share * len(series)))
        num_test = max(2, round(test_share * len(series)))
        num_training = len(series) - num_validation - num_test
        if num_training < 2:
            raise UserError(
                f"of the {len(series)} series of {name!r}, {num_validation} to validate on and "
                f"{num_test} to test on leave {num_training} to train on, expected at least 2: "
                "give more series, or smaller shares."
            )
        length = int(np.median(series.lengths))
        own = training.model_copy(
            update={
                "epochs": epochs or experiment.epochs or training.epochs,
                "context_sizes": _at_most(length // 2, training.context_sizes),
                "target_sizes": _at_most(length, training.target_sizes),
            }
        ).limited_to(num_training)
        evaluation = EvaluationSettings(num_systems=num_test)
        runs[name] = RunSettings(
            data=DataSettings(num_training=num_training, num_validation=num_validation),
            training=own.model_copy(update={"epochs": own.num_epochs(num_training)}),
            evaluation=evaluation.model_copy(
                update={"context_sizes": _at_most(length // 2, evaluation.context_sizes)}
            ),
        )
    return ReproductionSettings(experiments=runs, models=_models(marks_gaps=True))


def best_table_settings(experiments: Mapping[str, Experiment]) -> ReproductionSettings:
    """The same, with models and training as those of a network of a `Forecaster`."""
    whole = table_settings(experiments, training=BEST.train)
    changes = {"objective": BEST.objective, "inference": BEST.inference}
    return whole.model_copy(update={"preset": "best", "models": _models(changes, **BEST.process)})


def _at_most(largest: int, sizes: Sizes) -> Sizes:
    smallest, most = (max(1, min(size, largest)) for size in sizes)
    return smallest, most
