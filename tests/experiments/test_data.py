import jax
import numpy as np
import pytest

from lupi.experiments import get_experiment, quick_settings
from lupi.experiments.systems import make_data, make_lessons

SETTINGS = quick_settings().experiments["stiffness"]


@pytest.fixture(scope="module")
def data():
    return make_data(get_experiment("stiffness"), SETTINGS, key=jax.random.key(0))


def test_training_series_lie_on_the_published_grid_and_test_series_on_a_hundred_steps(data):
    np.testing.assert_allclose(data.training.observations.ts[0], np.linspace(0, 1, 51), atol=1e-6)
    np.testing.assert_allclose(data.test.observations.ts[0], np.linspace(0, 1, 100), atol=1e-6)


def test_training_validation_and_test_systems_are_different_ones_of_the_right_number(data):
    parts = [data.training, data.validation, data.test]
    assert [part.privileged.shape[0] for part in parts] == [16, 4, 20]
    values = np.concatenate([np.ravel(part.privileged) for part in parts])
    assert len(np.unique(values)) == 40
    assert values.min() >= 0.2
    assert values.max() <= 1.0


def test_the_floor_is_the_error_of_the_mean_training_trajectory(data):
    mean = np.array(data.training.observations.ys).mean(axis=0)
    on_test_grid = np.stack(
        [np.interp(np.linspace(0, 1, 100), np.linspace(0, 1, 51), mean[:, i]) for i in (0, 1)],
        axis=1,
    )
    errors = ((np.array(data.test.observations.ys) - on_test_grid) ** 2).mean(axis=(1, 2))
    assert data.floor.mean == pytest.approx(errors.mean(), rel=1e-2)


def test_the_best_preset_learns_between_the_samples_where_there_is_no_noise():
    def length(preset: str, noise: float) -> int:
        settings = quick_settings(preset=preset, noise=noise).experiments["stiffness"]
        key = jax.random.key(0)
        data = make_data(get_experiment("stiffness"), settings, key=key)
        return int(make_lessons(data, settings, key=key).observations.mask.sum(axis=1).min())

    lengths = {"paper": length("paper", 0.0), "best": length("best", 0.0)}
    assert lengths == {"paper": 51, "best": 101}
    assert length("best", 0.1) == 51
