"""The paper's experiments: named settings, runs, and what they leave behind."""

from lupi.experiments.claims import judge_claims
from lupi.experiments.reproduce import Progress, collect, reproduce
from lupi.experiments.results import Record, Results, RunFolder, read_results
from lupi.experiments.run import run
from lupi.experiments.settings import (
    ReproductionSettings,
    RunSettings,
    paper_settings,
    quick_settings,
)
from lupi.experiments.tasks import TASKS, PaperTask, get_task
from lupi.names import MODE_NAMES, MODEL_NAMES, TASK_NAMES

__all__ = [
    "MODEL_NAMES",
    "MODE_NAMES",
    "TASKS",
    "TASK_NAMES",
    "PaperTask",
    "Progress",
    "Record",
    "ReproductionSettings",
    "Results",
    "RunFolder",
    "RunSettings",
    "collect",
    "get_task",
    "judge_claims",
    "paper_settings",
    "quick_settings",
    "read_results",
    "reproduce",
    "run",
]
