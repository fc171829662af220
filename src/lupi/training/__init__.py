"""Training."""

from lupi.training.fit import EpochRow, Fitted, fit, fit_together
from lupi.training.settings import TrainingSettings

__all__ = ["EpochRow", "Fitted", "TrainingSettings", "fit", "fit_together"]
