"""The paper's experiments: named settings, runs, and what they leave behind."""

from lupi.experiments.claims import judge_claims
from lupi.experiments.paper import EXPERIMENTS, PAPER_MODELS, Experiment, get_experiment
from lupi.experiments.reproduction import Progress, collect, reproduce
from lupi.experiments.results import Record, Results, RunFolder, read_results
from lupi.experiments.running import run
from lupi.experiments.settings import (
    ReproductionSettings,
    RunSettings,
    paper_settings,
    quick_settings,
)

__all__ = [
    "EXPERIMENTS",
    "PAPER_MODELS",
    "Experiment",
    "Progress",
    "Record",
    "ReproductionSettings",
    "Results",
    "RunFolder",
    "RunSettings",
    "collect",
    "get_experiment",
    "judge_claims",
    "paper_settings",
    "quick_settings",
    "read_results",
    "reproduce",
    "run",
]
