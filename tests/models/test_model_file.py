from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from lupi._machinery.array_files import FORMAT, write_arrays
from lupi.errors import UserError, UserNotice
from lupi.models import (
    ConditionalProcess,
    ConditionalProcessSettings,
    NeuralODEProcessSettings,
    build_process,
    load_process,
    num_parameters,
    save_process,
)
from lupi.prediction import predict

SETTINGS = NeuralODEProcessSettings()
OLD_FILES = Path(__file__).parents[1] / "old_files"


@pytest.fixture
def path(tmp_path, lupi):
    path = tmp_path / "deep" / "model.safetensors"
    save_process(path, lupi, SETTINGS)
    return path


def test_a_loaded_process_predicts_the_same_numbers(path, lupi, observations):
    times = jnp.linspace(0, 1, 7)
    saved = predict(lupi, observations, times, key=jax.random.key(3))
    loaded = predict(load_process(path), observations, times, key=jax.random.key(3))
    np.testing.assert_array_equal(saved.means, loaded.means)
    np.testing.assert_array_equal(saved.samples, loaded.samples)


def test_the_loaded_process_keeps_its_privileged_parts(path, lupi, observations):
    expected = lupi.encode(observations, jnp.array([0.4])).latent.loc
    found = load_process(path).encode(observations, jnp.array([0.4])).latent.loc
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
    write_arrays(path, arrays or {"w": np.zeros(1)}, header, kind="process")


def test_a_newer_format_says_which_version_is_needed(tmp_path):
    path = tmp_path / "new.safetensors"
    write_with_header(path, {"format": 99, "settings": {}})
    with pytest.raises(
        UserError, match=f"has format 99, this version of lupi reads up to {FORMAT}"
    ):
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
    path = tmp_path / "model.safetensors"
    for change, message in (
        ({"hidden_size": 8}, "pass the settings that it was built with"),
        ({"min_observation_scale": 0.01}, "a scale or another number in it"),
        ({"training_solver_steps": 16}, "a scale or another number in it"),
    ):
        settings = NeuralODEProcessSettings(**change)
        other = build_process(settings, observation_size=2, key=jax.random.key(0))
        with pytest.raises(UserError, match=message):
            save_process(path, other, SETTINGS)
    assert not path.exists()


def test_a_process_is_not_saved_with_settings_of_another_kind(tmp_path, nopi):
    with pytest.raises(UserError, match="pass the settings that it was built with"):
        save_process(tmp_path / "model.safetensors", nopi, ConditionalProcessSettings())


def test_a_conditional_process_is_saved_and_loaded(tmp_path, observations):
    settings = ConditionalProcessSettings(hidden_size=8)
    process = build_process(settings, observation_size=2, key=jax.random.key(0))
    save_process(tmp_path / "cnp", process, settings)
    loaded = load_process(tmp_path / "cnp")
    assert isinstance(loaded, ConditionalProcess)
    for one, other in zip(jax.tree.leaves(process), jax.tree.leaves(loaded), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("model", ["nopi", "lupi"])
def test_a_file_of_the_version_before_is_loaded_with_all_its_weights(model):
    path = OLD_FILES / f"initial-{model}.safetensors"
    with pytest.warns(UserNotice, match="without a checksum"):
        before, process = load_file(path), load_process(path)
    assert num_parameters(process) == sum(array.size for array in before.values())
    np.testing.assert_array_equal(
        process.decoder.mlp.layers[1].weight, before["decoder.mlp.layers[1].weight"]
    )
    if model == "lupi":
        np.testing.assert_array_equal(
            process.privileged.encoder.mlp.layers[2].bias,
            before["privileged_encoder.mlp.layers[2].bias"],
        )
        np.testing.assert_array_equal(
            process.privileged.mlp.layers[0].weight,
            before["residual_aggregator.mlp.layers[0].weight"],
        )


def test_an_unknown_kind_of_process_is_refused(tmp_path):
    path = tmp_path / "odd.safetensors"
    description = {"settings": {"kind": "oracle"}, "observation_size": 2, "privileged_size": 0}
    write_with_header(path, {"format": 3, "process": description})
    with pytest.raises(UserError, match="unknown kind 'oracle', expected one of neural-ode"):
        load_process(path)
