"""What predicts: the abstract predictor and process, each kind of process, and their files."""

from lupi.models.attentive_process import AttentiveProcessSettings
from lupi.models.bayesian_ode_process import BayesianODESettings
from lupi.models.conditional_process import ConditionalProcess, ConditionalProcessSettings
from lupi.models.kinds import KINDS, AnyProcessSettings
from lupi.models.latent_ode_process import LatentODESettings
from lupi.models.mean_trajectory import MeanTrajectory
from lupi.models.neural_ode_process import NeuralODEProcess, NeuralODEProcessSettings
from lupi.models.neural_process import NeuralProcessSettings
from lupi.models.parts.layers import MLP
from lupi.models.parts.privileged_ways import Way
from lupi.models.prediction import Findings, Prediction
from lupi.models.predictor import AbstractPredictor
from lupi.models.process import (
    AbstractProcess,
    Code,
    Lesson,
    Sample,
    no_latent,
    num_parameters,
    without_privileged,
)
from lupi.models.process_file import load_process, save_process
from lupi.models.second_order_process import SecondOrderProcessSettings
from lupi.models.settings import Aggregator, NetworkSettings, ProcessSettings, build_process
from lupi.models.solving import hermite, solve

__all__ = [
    "KINDS",
    "MLP",
    "AbstractPredictor",
    "AbstractProcess",
    "Aggregator",
    "AnyProcessSettings",
    "AttentiveProcessSettings",
    "BayesianODESettings",
    "Code",
    "ConditionalProcess",
    "ConditionalProcessSettings",
    "Findings",
    "LatentODESettings",
    "Lesson",
    "MeanTrajectory",
    "NetworkSettings",
    "NeuralODEProcess",
    "NeuralODEProcessSettings",
    "NeuralProcessSettings",
    "Prediction",
    "ProcessSettings",
    "Sample",
    "SecondOrderProcessSettings",
    "Way",
    "build_process",
    "hermite",
    "load_process",
    "no_latent",
    "num_parameters",
    "save_process",
    "solve",
    "without_privileged",
]
