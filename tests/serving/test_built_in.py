"""The models that are shipped, and asking one in another way."""

import jax
import numpy as np
import pytest

from lupi.errors import UserError
from lupi.inference import Amortised, Refined
from lupi.serving.built_in import BUILT_IN, FOLDER, load_built_in
from lupi.serving.catalogue import Catalogue


def test_every_system_of_the_paper_has_a_model_with_privileged_information_and_one_without():
    catalogue = Catalogue.of_files([])
    assert list(catalogue.models) == list(BUILT_IN)
    for name, served in catalogue.models.items():
        info = served.info()
        assert info.system == BUILT_IN[name]
        assert info.gaps
        assert info.inference == "refined"
        assert served.forecaster.processes[0].uses_privileged == name.endswith("-lupi")


def test_they_are_small():
    assert all(path.stat().st_size < 80_000 for path in FOLDER.iterdir())


def test_what_is_compiled_for_one_of_them_serves_the_others(catalogue, compilations):
    catalogue.get("quick").forecaster.predict(None, [1.0])
    compilations.clear()
    for name in BUILT_IN:
        load_built_in(name).with_inference("amortised").predict(None, [1.0])
    assert compilations == []


def test_all_of_them_have_the_same_sizes():
    fitted = [load_built_in(name)._get().without_privileged for name in BUILT_IN]
    shapes = [jax.tree.map(np.shape, one) for one in fitted]
    assert all(one == shapes[0] for one in shapes)


def test_another_inference_asks_the_same_networks():
    springs = load_built_in("stiffness-lupi")
    encoder = springs.with_inference("amortised")
    assert isinstance(springs.settings.inference, Refined)
    assert isinstance(encoder.settings.inference, Amortised)
    assert encoder.processes[0] is springs.processes[0]
    assert encoder.with_inference(Refined()) == springs
    again = encoder.with_inference("refined").with_inference("amortised")
    np.testing.assert_array_equal(encoder.predict(None).mean, again.predict(None).mean)


def test_an_unknown_inference_and_an_unknown_model_are_told():
    with pytest.raises(UserError, match="magic"):
        load_built_in("stiffness-lupi").with_inference("magic")
    with pytest.raises(UserError, match="Did you mean 'stiffness-lupi'"):
        load_built_in("stiffness-lup")
