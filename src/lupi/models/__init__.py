"""The process, its parts, and how to save and load it."""

from lupi.models.aggregator import MeanLogSumExp
from lupi.models.decoder import Decoder
from lupi.models.global_latent import GlobalLatent
from lupi.models.initial_state import InitialState
from lupi.models.latent_ode import LatentODE
from lupi.models.model_file import load_process, save_process
from lupi.models.observation_encoder import ObservationEncoder
from lupi.models.privileged_encoder import PrivilegedEncoder
from lupi.models.process import NeuralODEProcess, build_process, num_parameters
from lupi.models.residual_aggregator import ResidualAggregator
from lupi.models.settings import ProcessOptions, ProcessSettings

__all__ = [
    "Decoder",
    "GlobalLatent",
    "InitialState",
    "LatentODE",
    "MeanLogSumExp",
    "NeuralODEProcess",
    "ObservationEncoder",
    "PrivilegedEncoder",
    "ProcessOptions",
    "ProcessSettings",
    "ResidualAggregator",
    "build_process",
    "load_process",
    "num_parameters",
    "save_process",
]
