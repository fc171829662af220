"""Children made by `fork`."""

import os
import warnings

import jax
import pytest

from lupi._machinery import forks
from lupi._machinery.compilation import compiled
from lupi.errors import UserError


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
