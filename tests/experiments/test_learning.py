"""Does training work? Small always; the paper's own size when asked for."""

import pytest

from lupi.experiments import EXPERIMENTS, PAPER_MODELS, RunFolder, paper_settings, run
from lupi.experiments.settings import DataSettings, EvaluationSettings, RunSettings
from lupi.report.paper import TABLE_1, unit
from lupi.training import TrainingSettings


@pytest.mark.slow
def test_after_a_short_training_the_error_on_new_systems_is_less_than_half_the_floor(tmp_path):
    """Seeds 0, 1 and 2 end at 0.31, 0.27 and 0.11 of the floor at test time."""
    settings = RunSettings(
        data=DataSettings(num_training=400, num_validation=5),
        training=TrainingSettings(
            epochs=40, learning_rate=5e-3, batch_size=8, decay=True, validations=1
        ),
        evaluation=EvaluationSettings(num_systems=50),
    )
    folder = RunFolder(tmp_path, "lotka-volterra", "lupi", 0)
    (finished,) = run([folder], settings, paper_settings().models["lupi"])
    test, train = (record.metrics["mse"].mean for record in finished.records)
    assert test < finished.floor.mse.mean / 2
    assert train < finished.floor.mse.mean / 3


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("model", PAPER_MODELS)
def test_the_papers_training_reaches_the_papers_error(tmp_path, experiment, model):
    settings = paper_settings()
    (finished,) = run(
        [RunFolder(tmp_path, experiment, model, 0)],
        settings.experiments[experiment],
        settings.models[model],
    )
    errors = {record.mode: record.metrics["mse"].mean for record in finished.records}
    assert errors["test"] < TABLE_1[experiment, model, "test"].mse.mean * unit(experiment, "mse")
    assert errors["train"] < finished.floor.mse.mean / 5
