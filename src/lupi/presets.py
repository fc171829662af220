"""How forecasters are built and trained: a default for data of all kinds, and the paper's."""

import math

from pydantic import BaseModel, ConfigDict, Field

from lupi.errors import UserError
from lupi.models import ProcessOptions
from lupi.models.settings import Size
from lupi.training import TrainingSettings
from lupi.training.settings import Sizes

STEPS, MOST_EPOCHS = 20_000, 2_000
"""Of training, unless the settings say how many epochs."""


class ForecasterProcess(ProcessOptions):
    """What a forecaster's process is like: as `ProcessOptions`, with defaults for data of all
    kinds."""

    hidden_size: Size = 32
    representation_size: Size = 32
    min_latent_scale: float = Field(default=0.01, ge=0, lt=1)
    min_observation_scale: float = Field(default=0.02, ge=0, lt=1)
    marks_gaps: bool = True


class ForecasterTraining(TrainingSettings):
    """How a forecaster is trained: as `TrainingSettings`, with defaults for data of all kinds."""

    epochs: int | None = Field(default=None, ge=1)  # pyright: ignore[reportIncompatibleVariableOverride]
    """None takes as many as make 20,000 steps."""
    learning_rate: float = Field(default=5e-3, gt=0)
    batch_size: int = Field(default=8, ge=1)
    context_sizes: Sizes = (3, 15)
    target_sizes: Sizes = (10, 50)
    decay: bool = True
    max_gradient: float | None = Field(default=10.0, gt=0)
    keep_best: bool = True

    def resolve(self, num_series: int) -> TrainingSettings:
        """The settings for this number of series to train on."""
        batch_size = min(self.batch_size, num_series)
        epochs = self.epochs or min(MOST_EPOCHS, math.ceil(STEPS / (num_series // batch_size)))
        chosen = self.model_dump() | {"batch_size": batch_size, "epochs": epochs}
        return TrainingSettings.model_validate(chosen)


class ForecasterSettings(BaseModel):
    """How a forecaster is built and trained. The defaults are for data of all kinds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    process: ForecasterProcess = ForecasterProcess()
    train: ForecasterTraining = ForecasterTraining()
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """Of the series, chosen at random: not trained on, to see when training is best."""

    def num_validation(self, num_series: int) -> int:
        """How many of so many series are held out."""
        return max(1, min(num_series - 1, round(self.validation_share * num_series)))

    @classmethod
    def preset(cls, name: str) -> "ForecasterSettings":
        """Settings by name: `default`, or `paper` for those of the paper."""
        if name == "default":
            return cls()
        if name == "paper":
            process = ForecasterProcess.model_validate(ProcessOptions(marks_gaps=True).model_dump())
            train = ForecasterTraining.model_validate(TrainingSettings().model_dump())
            return cls(process=process, train=train)
        raise UserError(f"there is no preset {name!r}: expected 'default' or 'paper'.")
