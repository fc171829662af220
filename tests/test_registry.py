"""The table of models."""

from itertools import combinations

import numpy as np
import pytest

import lupi
from lupi.errors import UserError
from lupi.experiments import REPRODUCTIONS
from lupi.forecasting import forecaster_settings
from lupi.models import ConditionalProcessSettings, NeuralProcessSettings
from lupi.objectives import MaximumLikelihood
from lupi.registry import MODELS, ModelSettings


def test_no_two_models_look_alike():
    assert len({model.label for model in MODELS.values()}) == len(MODELS)
    rgb = [
        np.array([int(model.colour[i : i + 2], 16) for i in (1, 3, 5)]) for model in MODELS.values()
    ]
    assert min(np.linalg.norm(one - other) for one, other in combinations(rgb, 2)) > 25


def test_a_preset_leaves_an_objective_that_is_not_the_papers():
    assert forecaster_settings(model="lupi-npml").objective == MaximumLikelihood()
    best = REPRODUCTIONS["best"]().models
    assert best["lupi-npml"].objective == MaximumLikelihood()
    assert best["lupi"].objective == forecaster_settings(model="lupi").objective


def test_a_model_that_cannot_use_privileged_values_and_is_asked_to_says_so():
    asked = ModelSettings(process=ConditionalProcessSettings(), uses_privileged=True)
    assert asked.privileged_size(0) == 0
    with pytest.raises(UserError, match="makes no use of privileged values, but was asked to"):
        asked.privileged_size(1)


def test_unless_said_otherwise_a_model_uses_them_where_it_can():
    assert not ModelSettings(process=ConditionalProcessSettings()).uses_privileged
    assert ModelSettings(process=NeuralProcessSettings()).uses_privileged
    assert not MODELS["np"].uses_privileged
    assert MODELS["np-lupi"].uses_privileged


@pytest.mark.parametrize(("number", "size"), [(1_999, 32), (2_000, 64)])
def test_networks_are_narrower_where_there_is_little_to_learn_from(number, size):
    rows = {"run": np.arange(number) % 20, "t": np.arange(number), "x": np.arange(number)}
    table = lupi.read_series(rows, series="run", time="t", observed="x")
    suited = forecaster_settings().suited_to(table)
    assert (suited.process.hidden_size, suited.process.representation_size) == (size, size)
    assert suited.suited_to(table) == suited
    given = forecaster_settings(process={"hidden_size": 48})
    assert given.suited_to(table) == given
    paper = forecaster_settings("paper")
    assert paper.suited_to(table) == paper
