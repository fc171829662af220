"""Memory that there is."""

import pytest

from lupi._machinery import memory
from lupi._machinery.memory import available_memory, check_memory
from lupi.errors import UserError


def test_this_machine_says_how_much_is_free():
    free = available_memory()
    assert free is None or 10**7 < free < 10**16


def test_what_does_not_fit_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * 10**9)
    check_memory(10**9, "this", "ask for less")
    with pytest.raises(UserError, match=r"^this would take about 3\.0 GB .* 2\.0 GB are free: ask"):
        check_memory(3 * 10**9, "this", "ask for less")


def test_where_nothing_is_known_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    check_memory(10**30, "this", "ask for less")
