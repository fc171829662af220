"""Memory that there is."""

import jax
import pytest

from lupi._machinery import compilation, memory
from lupi._machinery.compilation import compiled
from lupi._machinery.memory import available_memory, check_memory, forget_compiled
from lupi.errors import UserError


def test_this_machine_says_how_much_is_free():
    free = available_memory()
    assert free is None or 10**7 < free < 10**16


def test_what_does_not_fit_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * 10**9)
    check_memory(10**9, "this", "ask for less")
    with pytest.raises(UserError, match=r"^this would take about 3\.0 GB .* 2\.0 GB are free: ask"):
        check_memory(3 * 10**9, "this", "ask for less")


def test_what_was_compiled_is_forgotten_once_there_is_much_of_it_and_compiled_again():
    double = jax.jit(lambda x: 2 * x)
    traced = []
    twice = compiled(lambda x: traced.append(x) or 2 * x, brief=True)
    assert (double(1.0), twice(1.0)) == (2.0, 2.0)
    forget_compiled()
    assert twice(1.0) == 2.0
    assert len(traced) == 1
    forget_compiled(most=0.0)
    assert (double(1.0), twice(1.0)) == (2.0, 2.0)
    assert len(traced) == 2


def test_a_call_that_may_have_compiled_looks_whether_there_is_room(monkeypatch):
    looked = []
    monkeypatch.setattr(compilation, "forget_compiled", lambda: looked.append(True))
    monkeypatch.setattr(compilation, "LONG", 1e9)
    half = compiled(lambda x: x / 2, brief=True)
    half(1.0)
    assert not looked
    monkeypatch.setattr(compilation, "LONG", 0.0)
    half(1.0)
    assert looked


def test_where_nothing_is_known_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    check_memory(10**30, "this", "ask for less")
