"""Training."""

from lupi.training.fit import (
    EpochRow,
    Fitted,
    TrainingState,
    begin,
    finish,
    fit,
    fit_together,
    train_epochs,
)
from lupi.training.settings import TrainingSettings

__all__ = [
    "EpochRow",
    "Fitted",
    "TrainingSettings",
    "TrainingState",
    "begin",
    "finish",
    "fit",
    "fit_together",
    "train_epochs",
]
