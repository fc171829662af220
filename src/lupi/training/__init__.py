"""Training. Nothing is imported before it is used: settings do not wait for JAX."""

from typing import TYPE_CHECKING

from lupi._machinery.lazy import lazy_names

if TYPE_CHECKING:
    from lupi.training.best import EpochRow
    from lupi.training.loop import DivergenceError, Fitted, finish, fit, fit_together, train_epochs
    from lupi.training.settings import TrainingSettings
    from lupi.training.state import TrainingState, begin

_HOMES = {
    "DivergenceError": "loop",
    "EpochRow": "best",
    "Fitted": "loop",
    "TrainingSettings": "settings",
    "TrainingState": "state",
    "begin": "state",
    "finish": "loop",
    "fit": "loop",
    "fit_together": "loop",
    "train_epochs": "loop",
}

__all__ = [
    "DivergenceError",
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

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
