"""What decides a run's numbers beside its experiment, frozen."""

from pydantic import BaseModel, ConfigDict, Field

from lupi import __version__
from lupi.experiments.paper import EXPERIMENTS
from lupi.registry import MODELS, ModelSettings
from lupi.training import TrainingSettings
from lupi.training.settings import Sizes


class DataSettings(BaseModel):
    """How much a model learns from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_training: int = Field(default=400, ge=1)
    num_validation: int = Field(default=100, ge=1)
    num_times: int = Field(default=51, ge=2)
    """Samples of a training series, evenly spaced from 0 to the horizon."""


class EvaluationSettings(BaseModel):
    """How a model is judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_systems: int = Field(default=500, ge=2)
    num_times: int = Field(default=100, ge=2)
    num_samples: int = Field(default=32, ge=2)
    """Samples of z."""
    context_sizes: Sizes = (5, 9)


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
    experiments: dict[str, RunSettings]
    models: dict[str, ModelSettings] = Field(default_factory=lambda: _models())
    """Every model of the registry, whether it is run or not."""


def _models() -> dict[str, ModelSettings]:
    fields = set(ModelSettings.model_fields)
    return {
        name: ModelSettings.model_validate({field: getattr(model, field) for field in fields})
        for name, model in MODELS.items()
    }


def paper_settings(*, epochs: int | None = None) -> ReproductionSettings:
    """The paper's sizes, and each experiment's epochs unless `epochs` is given."""
    return ReproductionSettings(
        experiments={
            name: RunSettings(training=TrainingSettings(epochs=epochs or experiment.epochs))
            for name, experiment in EXPERIMENTS.items()
        }
    )


def quick_settings(*, epochs: int | None = None) -> ReproductionSettings:
    """A smoke run: every step of the real one on next to no data. Its numbers mean nothing."""
    run = RunSettings(
        data=DataSettings(num_training=16, num_validation=4),
        training=TrainingSettings(epochs=epochs or 2),
        evaluation=EvaluationSettings(num_systems=20, num_samples=8),
    )
    return ReproductionSettings(experiments=dict.fromkeys(EXPERIMENTS, run))
