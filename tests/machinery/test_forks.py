"""Children made by `fork`."""

import os
import warnings

import jax
import pytest

import lupi
from lupi._machinery import forks
from lupi._machinery.compilation import compiled
from lupi.errors import UserError
from lupi.serving.built_in import FOLDER as BUILT_IN_MODELS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_says_what_to_use_instead_of_waiting_for_ever():
    jax.devices()  # JAX runs
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX's own, and Python's
        child = os.fork()
    if child == 0:
        try:
            compiled(lambda x: x + 1, brief=True)(1.0)
            said = "it computed"
        except UserError as error:
            said = str(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reading, 1000).decode()
    os.close(reading)
    os.close(writing)
    assert "made by fork" in said
    assert "get_context('spawn')" in said


def test_a_process_of_its_own_computes():
    forks.check_not_forked()


def test_a_child_of_a_process_without_jax_may_compute(monkeypatch):
    monkeypatch.setattr(forks, "_is_running", lambda: False)
    monkeypatch.setattr(forks, "_forked", False)
    forks._mark()
    forks.check_not_forked()


@pytest.mark.parametrize("what", ["fit", "predict"])
def test_a_forecaster_in_a_forked_child_says_so_before_it_does_anything(monkeypatch, what):
    monkeypatch.setattr(forks, "_forked", True)
    forecaster = lupi.load(BUILT_IN_MODELS / "stiffness-lupi.lupi")
    table = lupi.read_series(
        {"run": [0, 0, 1, 1], "t": [0, 1, 0, 1], "x1": [1, 2, 3, 4], "x2": [1, 0, 1, 0]},
        series="run",
        time="t",
        observed=["x1", "x2"],
    )
    with pytest.raises(UserError, match="made by fork"):
        getattr(forecaster, what)(table)
