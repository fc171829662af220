"""One object for users' tables: fit, predict, evaluate, save; in original units."""

from lupi.forecasting.evaluation import TableEvaluation, evaluate
from lupi.forecasting.forecast import Forecast
from lupi.forecasting.forecaster import Forecaster, load
from lupi.forecasting.settings import PRESETS, ForecasterSettings, forecaster_settings

__all__ = [
    "PRESETS",
    "Forecast",
    "Forecaster",
    "ForecasterSettings",
    "TableEvaluation",
    "evaluate",
    "forecaster_settings",
    "load",
]
