"""Training."""

from lupi.training.fit import EpochRow, Fitted, fit
from lupi.training.settings import TrainingSettings

__all__ = ["EpochRow", "Fitted", "TrainingSettings", "fit"]
