"""Forecasts of dynamical systems from a handful of observations.

What most people need stands here; each part has its own module. Nothing heavy is imported before
it is used, so that the command line answers at once, and importing changes nothing in the process
that imports it.
"""

from typing import TYPE_CHECKING

from lupi._machinery.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lupi import evaluation, metrics
    from lupi._machinery.environment import compile_small_loops
    from lupi.data import (
        Contexts,
        Observations,
        SeriesTable,
        Task,
        check_series,
        draw_context,
        generate_tasks,
        read_series,
        split_randomly,
        summarise,
    )
    from lupi.distributions import Uniform
    from lupi.errors import UserError, UserNotice
    from lupi.experiments import Experiment, get_experiment
    from lupi.forecasting import (
        Forecast,
        Forecaster,
        ForecasterSettings,
        evaluate,
        forecaster_settings,
        load,
    )
    from lupi.ideal import IdealObserver
    from lupi.inference import Amortised, InferringPredictor, Refined, learn_family
    from lupi.models import (
        AttentiveProcessSettings,
        BayesianODESettings,
        ConditionalProcess,
        ConditionalProcessSettings,
        LatentODESettings,
        MeanTrajectory,
        NeuralODEProcess,
        NeuralODEProcessSettings,
        NeuralProcessSettings,
        Prediction,
        SecondOrderProcessSettings,
        build_process,
        load_process,
        num_parameters,
        save_process,
    )
    from lupi.objectives import (
        Elbo,
        ImportanceWeighted,
        MaximumLikelihood,
        Predictive,
        Renyi,
    )
    from lupi.prediction import predict
    from lupi.registry import Model, get_model
    from lupi.systems import (
        DampedOscillators,
        Epidemic,
        LineAndSine,
        LotkaVolterra,
        Parameter,
        Pendulum,
        System,
        TwoCompartments,
        simulate,
    )
    from lupi.training import TrainingSettings, fit

_HOMES = {
    "Amortised": "inference",
    "ConditionalProcess": "models",
    "ConditionalProcessSettings": "models",
    "AttentiveProcessSettings": "models",
    "BayesianODESettings": "models",
    "LatentODESettings": "models",
    "NeuralProcessSettings": "models",
    "SecondOrderProcessSettings": "models",
    "DampedOscillators": "systems",
    "Elbo": "objectives",
    "Epidemic": "systems",
    "Predictive": "objectives",
    "ImportanceWeighted": "objectives",
    "MaximumLikelihood": "objectives",
    "Renyi": "objectives",
    "Experiment": "experiments",
    "Forecast": "forecasting",
    "Forecaster": "forecasting",
    "ForecasterSettings": "forecasting",
    "IdealObserver": "ideal",
    "InferringPredictor": "inference",
    "LineAndSine": "systems",
    "LotkaVolterra": "systems",
    "MeanTrajectory": "models",
    "Model": "registry",
    "NeuralODEProcess": "models",
    "NeuralODEProcessSettings": "models",
    "Observations": "data",
    "Parameter": "systems",
    "Pendulum": "systems",
    "Prediction": "models",
    "Refined": "inference",
    "SeriesTable": "data",
    "System": "systems",
    "Task": "data",
    "TrainingSettings": "training",
    "TwoCompartments": "systems",
    "Uniform": "distributions",
    "UserError": "errors",
    "UserNotice": "errors",
    "build_process": "models",
    "check_series": "data",
    "compile_small_loops": "_machinery.environment",
    "Contexts": "data",
    "draw_context": "data",
    "evaluation": "evaluation",
    "evaluate": "forecasting",
    "fit": "training",
    "forecaster_settings": "forecasting",
    "generate_tasks": "data",
    "get_experiment": "experiments",
    "get_model": "registry",
    "learn_family": "inference",
    "load": "forecasting",
    "load_process": "models",
    "metrics": "metrics",
    "num_parameters": "models",
    "predict": "prediction",
    "read_series": "data",
    "save_process": "models",
    "simulate": "systems",
    "split_randomly": "data",
    "summarise": "data",
}

__all__ = [
    "Amortised",
    "AttentiveProcessSettings",
    "BayesianODESettings",
    "ConditionalProcess",
    "ConditionalProcessSettings",
    "Contexts",
    "DampedOscillators",
    "Elbo",
    "Epidemic",
    "Experiment",
    "Forecast",
    "Forecaster",
    "ForecasterSettings",
    "IdealObserver",
    "ImportanceWeighted",
    "InferringPredictor",
    "LatentODESettings",
    "LineAndSine",
    "LotkaVolterra",
    "MaximumLikelihood",
    "MeanTrajectory",
    "Model",
    "NeuralODEProcess",
    "NeuralODEProcessSettings",
    "NeuralProcessSettings",
    "Observations",
    "Parameter",
    "Pendulum",
    "Prediction",
    "Predictive",
    "Refined",
    "Renyi",
    "SecondOrderProcessSettings",
    "SeriesTable",
    "System",
    "Task",
    "TrainingSettings",
    "TwoCompartments",
    "Uniform",
    "UserError",
    "UserNotice",
    "build_process",
    "check_series",
    "compile_small_loops",
    "draw_context",
    "evaluate",
    "evaluation",
    "fit",
    "forecaster_settings",
    "generate_tasks",
    "get_experiment",
    "get_model",
    "learn_family",
    "load",
    "load_process",
    "metrics",
    "num_parameters",
    "predict",
    "read_series",
    "save_process",
    "simulate",
    "split_randomly",
    "summarise",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
