"""Does training work? Small always; the paper's own size when asked for."""

import pytest

from lupi.experiments import RunFolder, paper_settings, run
from lupi.experiments.settings import DataSettings, EvaluationSettings
from lupi.report.paper import TABLE_1, unit
from lupi.training import TrainingSettings


def test_a_short_training_tells_systems_apart_far_better_than_the_floor(tmp_path):
    settings = (
        paper_settings()
        .tasks["stiffness"]
        .model_copy(
            update={
                "data": DataSettings(num_training=200, num_validation=20),
                "training": TrainingSettings(epochs=15),
                "evaluation": EvaluationSettings(num_systems=50),
            }
        )
    )
    (finished,) = run([RunFolder(tmp_path, "stiffness", "lupi", 0)], settings)
    test, train = (record.metrics["mse"].mean for record in finished.records)
    assert train < finished.floor.mse.mean / 3
    assert test < 1.5 * finished.floor.mse.mean


@pytest.mark.slow
@pytest.mark.parametrize("task", ["stiffness", "damping", "lotka-volterra"])
@pytest.mark.parametrize("model", ["nopi", "lupi"])
def test_the_papers_training_reaches_the_papers_error(tmp_path, task, model):
    (finished,) = run([RunFolder(tmp_path, task, model, 0)], paper_settings().tasks[task])
    errors = {record.mode: record.metrics["mse"].mean for record in finished.records}
    assert errors["test"] < TABLE_1[task, model, "test"].mse.mean * unit(task, "mse")
    assert errors["train"] < finished.floor.mse.mean / 5
