"""Experiments, the paper's and others: settings, runs, and what they leave behind."""

from lupi.experiments.claims import judge_claims
from lupi.experiments.comparison import (
    check_contestants,
    comparison_settings,
    default_contestants,
)
from lupi.experiments.contestants import all_contestants
from lupi.experiments.expected import expected_seconds
from lupi.experiments.experiment import Experiment, Simulation
from lupi.experiments.more import MORE_EXPERIMENTS
from lupi.experiments.paper import BUILT_IN, EXPERIMENTS, PAPER_MODELS, get_experiment
from lupi.experiments.reproduction import Progress, collect, reproduce
from lupi.experiments.results import Record, Results, RunFolder, read_results
from lupi.experiments.running import run
from lupi.experiments.settings import (
    REPRODUCTIONS,
    ReproductionSettings,
    RunSettings,
    best_settings,
    paper_settings,
    quick_settings,
    table_settings,
)

__all__ = [
    "BUILT_IN",
    "EXPERIMENTS",
    "MORE_EXPERIMENTS",
    "PAPER_MODELS",
    "REPRODUCTIONS",
    "Experiment",
    "Progress",
    "Record",
    "ReproductionSettings",
    "Results",
    "RunFolder",
    "RunSettings",
    "Simulation",
    "all_contestants",
    "best_settings",
    "check_contestants",
    "collect",
    "comparison_settings",
    "default_contestants",
    "expected_seconds",
    "get_experiment",
    "judge_claims",
    "paper_settings",
    "quick_settings",
    "read_results",
    "reproduce",
    "run",
    "table_settings",
]
