"""Forecasts of dynamical systems from a handful of observations.

What most people need stands here; each part has its own module. Nothing heavy is imported before
it is used, so that the command line answers at once.
"""

import importlib
import os
from typing import TYPE_CHECKING

from lupi.small_loops import compile_small_loops_whole

__version__ = "0.1.0"

compile_small_loops_whole(os.environ)

if TYPE_CHECKING:
    from lupi.data import (
        Observations,
        SeriesTable,
        Task,
        check_tasks,
        draw_context,
        generate_tasks,
        read_tasks,
        split_randomly,
        summarise,
    )
    from lupi.distributions import Uniform
    from lupi.errors import UserError
    from lupi.experiments import get_task
    from lupi.forecast import Forecast
    from lupi.forecaster import Forecaster, load
    from lupi.models import (
        NeuralODEProcess,
        ProcessSettings,
        build_process,
        load_process,
        num_parameters,
        save_process,
    )
    from lupi.objectives import Elbo
    from lupi.prediction import Prediction, predict
    from lupi.presets import ForecasterSettings
    from lupi.systems import DampedOscillators, LotkaVolterra, Parameter, System, simulate
    from lupi.training import TrainingSettings, fit

_HOMES = {
    "DampedOscillators": "systems",
    "Elbo": "objectives",
    "Forecast": "forecast",
    "Forecaster": "forecaster",
    "ForecasterSettings": "presets",
    "LotkaVolterra": "systems",
    "NeuralODEProcess": "models",
    "Observations": "data",
    "Parameter": "systems",
    "Prediction": "prediction",
    "ProcessSettings": "models",
    "SeriesTable": "data",
    "System": "systems",
    "Task": "data",
    "TrainingSettings": "training",
    "Uniform": "distributions",
    "UserError": "errors",
    "build_process": "models",
    "check_tasks": "data",
    "draw_context": "data",
    "fit": "training",
    "generate_tasks": "data",
    "get_task": "experiments",
    "load": "forecaster",
    "load_process": "models",
    "num_parameters": "models",
    "predict": "prediction",
    "read_tasks": "data",
    "save_process": "models",
    "simulate": "systems",
    "split_randomly": "data",
    "summarise": "data",
}

_MODULES = {*_HOMES.values(), "metrics"}

__all__ = [
    "DampedOscillators",
    "Elbo",
    "Forecast",
    "Forecaster",
    "ForecasterSettings",
    "LotkaVolterra",
    "NeuralODEProcess",
    "Observations",
    "Parameter",
    "Prediction",
    "ProcessSettings",
    "SeriesTable",
    "System",
    "Task",
    "TrainingSettings",
    "Uniform",
    "UserError",
    "build_process",
    "check_tasks",
    "draw_context",
    "fit",
    "generate_tasks",
    "get_task",
    "load",
    "load_process",
    "num_parameters",
    "predict",
    "read_tasks",
    "save_process",
    "simulate",
    "split_randomly",
    "summarise",
]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(f"lupi.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"lupi.{name}")
    raise AttributeError(f"module 'lupi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
