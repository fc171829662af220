"""What every line of the table of rivals keeps to."""

import jax
import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.prediction import predict_many
from lupi.rivals import RIVALS

GRID = np.linspace(0, 1, 11, dtype=np.float32)


@pytest.mark.parametrize("name", [name for name in RIVALS if not RIVALS[name].needs_equations])
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


def test_labels_and_colours_tell_them_apart():
    for values in zip(*((one.label, one.colour) for one in RIVALS.values()), strict=True):
        assert len(set(values)) == len(RIVALS)
