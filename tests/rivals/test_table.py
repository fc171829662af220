"""What every line of the table of rivals keeps to."""

import jax
import numpy as np
import pytest
from scipy import stats

from lupi.data import Observations, Task
from lupi.errors import UserError
from lupi.models import AbstractPredictor, Prediction
from lupi.prediction import predict_many
from lupi.rivals import RIVALS
from lupi.rivals.filled import Filled

GRID = np.linspace(0, 1, 11, dtype=np.float32)


@pytest.mark.parametrize("name", ["gp", "sonode"])  # others: tests/plain; and all neural ODEs alike
def test_each_predicts_from_nothing_from_gaps_and_from_padding(name):
    rng = np.random.default_rng(2)
    ys = rng.standard_normal((12, 11, 2)).astype(np.float32)
    seen = Observations(np.broadcast_to(GRID, (12, 11)), ys)
    training = Task(seen, np.zeros((12, 0), np.float32))
    predictor = RIVALS[name].learn(training, None, jax.random.key(0))
    # Nothing; three points with a gap; the same with other numbers where nothing is known.
    ts = np.array([[0.0, 0.0, 0.0, 0.0], [0.2, 0.5, 0.9, 0.0], [0.2, 0.5, 0.9, 0.4]], np.float32)
    ys = np.array([[1.0, 2.0], [3.0, 4.0], [0.5, 1.0], [0.0, 0.0]], np.float32)
    gaps = np.array([[False, True], [False, False], [False, False], [False, False]])
    hidden = np.where(gaps, 99.0, ys).astype(np.float32)
    hidden[3] = 7.0
    mask = np.array([[False] * 4, [True] * 3 + [False], [True] * 3 + [False]])
    contexts = Observations(ts, np.stack([ys, ys, hidden]), mask, np.stack([gaps] * 3))
    times = np.broadcast_to(GRID, (3, 11))
    found = predict_many(predictor, contexts, times, num_samples=8, keys=jax.random.key(1))
    assert np.isfinite(found.mean).all()
    assert (np.asarray(found.std) > 0).all()
    np.testing.assert_allclose(found.mean[1], found.mean[2], atol=1e-4)


class Needles(AbstractPredictor):
    """A standard Normal forecast, as narrow Normals at its quantiles."""

    observation_size: int = 1

    def predict(self, context, times, *, num_samples, horizon, key):
        levels = (np.arange(num_samples) + 0.5) / num_samples
        means = np.broadcast_to(stats.norm.ppf(levels)[:, None, None], (num_samples, len(times), 1))
        means = means / means.std(axis=0)
        return Prediction(times, means, np.full(means.shape, 1e-3), key)


@pytest.fixture(scope="module")
def filled():
    how = {"num_samples": 32, "horizon": 1, "key": jax.random.key(0)}
    return Filled(predictor=Needles()).predict(Observations.none(1), GRID, **how)


def test_filling_holes_changes_neither_mean_nor_width(filled):
    np.testing.assert_allclose(filled.mean, 0.0, atol=1e-6)
    np.testing.assert_allclose(filled.std, 1.0, rtol=1e-5)


def test_a_forecast_without_holes_has_the_density_of_a_normal(filled):
    values = np.linspace(-2, 2, len(GRID), dtype=np.float32)[:, None]
    np.testing.assert_allclose(filled.log_density(values), stats.norm.logpdf(values), atol=0.1)


@pytest.mark.parametrize("name", ["gp", "neural-ode"])
def test_a_quantity_that_was_never_seen_is_refused(name):
    gaps = np.zeros((2, 11, 2), bool)
    gaps[..., 1] = True
    ts = np.broadcast_to(GRID, (2, 11))
    seen = Observations(ts, np.zeros((2, 11, 2), np.float32), np.ones((2, 11), bool), gaps)
    with pytest.raises(UserError, match="has no value in all of the systems"):
        RIVALS[name].learn(Task(seen, np.zeros((2, 0), np.float32)), None, jax.random.key(0))


def test_labels_and_colours_tell_them_apart():
    for values in zip(*((one.label, one.colour) for one in RIVALS.values()), strict=True):
        assert len(set(values)) == len(RIVALS)
