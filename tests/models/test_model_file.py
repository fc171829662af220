import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from lupi.errors import UserError
from lupi.models import ProcessSettings, build_process, load_process, save_process
from lupi.prediction import predict

SETTINGS = ProcessSettings(observation_size=2, privileged_size=1)


@pytest.fixture
def path(tmp_path, lupi):
    path = tmp_path / "deep" / "model.safetensors"
    save_process(path, lupi, SETTINGS)
    return path


def test_a_loaded_process_predicts_the_same_numbers(path, lupi, observations):
    times = jnp.linspace(0, 1, 7)
    saved = predict(lupi, observations, times, key=jax.random.key(3))
    loaded = predict(load_process(path), observations, times, key=jax.random.key(3))
    np.testing.assert_array_equal(saved.decoded_means, loaded.decoded_means)
    np.testing.assert_array_equal(saved.samples, loaded.samples)


def test_the_loaded_process_keeps_its_privileged_parts(path, lupi, observations):
    expected = lupi.infer_in_training(observations, jnp.array([0.4])).loc
    found = load_process(path).infer_in_training(observations, jnp.array([0.4])).loc
    np.testing.assert_array_equal(expected, found)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match="found none: check the path"):
        load_process(tmp_path / "nothing.safetensors")


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99])
def test_a_truncated_file_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UserError, match="truncated or of another kind"):
        load_process(path)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a model at all, but long enough to hold a header of some length")
    with pytest.raises(UserError, match="truncated or of another kind"):
        load_process(path)


def test_another_programs_tensors_are_refused(tmp_path):
    path = tmp_path / "foreign.safetensors"
    save_file({"weight": np.zeros(3)}, path)
    with pytest.raises(UserError, match="written by another program"):
        load_process(path)


def write_with_header(path, header, arrays=None):
    save_file(arrays or {"w": np.zeros(1)}, path, metadata={"lupi": json.dumps(header)})


def test_a_newer_format_says_which_version_is_needed(tmp_path):
    path = tmp_path / "new.safetensors"
    write_with_header(path, {"format": 99, "settings": {}})
    with pytest.raises(UserError, match="has format 99, this version of lupi reads up to 2"):
        load_process(path)


def test_a_header_without_sense_is_refused(tmp_path):
    path = tmp_path / "odd.safetensors"
    write_with_header(path, {"format": 1, "settings": {"observation_size": "many"}})
    with pytest.raises(UserError, match="does not say what the model is"):
        load_process(path)


def test_tensors_that_do_not_fit_the_settings_are_refused_by_name(tmp_path):
    path = tmp_path / "small.safetensors"
    write_with_header(path, {"format": 1, "settings": {"observation_size": 2}})
    with pytest.raises(UserError, match=r"damaged: expected .* at decoder"):
        load_process(path)


def test_a_process_is_not_saved_with_settings_of_another(tmp_path):
    other = build_process(ProcessSettings(observation_size=3), key=jax.random.key(0))
    with pytest.raises(UserError, match="pass the settings that it was built with"):
        save_process(tmp_path / "model.safetensors", other, SETTINGS)
    finer = ProcessSettings(observation_size=2, privileged_size=1, min_observation_scale=0.01)
    with pytest.raises(UserError, match="a scale or the number of solver steps"):
        save_process(
            tmp_path / "model.safetensors", build_process(finer, key=jax.random.key(0)), SETTINGS
        )
    assert not (tmp_path / "model.safetensors").exists()
