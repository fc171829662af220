"""Whole numbers and names at the door."""

import numpy as np
import pytest

from lupi.errors import UserError, check_name, check_seed, check_whole


@pytest.mark.parametrize("number", [1.5, 2.0, "2", None, True, -1, 11, float("nan"), [2]])
def test_what_is_no_whole_number_within_bounds_is_refused(number):
    with pytest.raises(UserError, match=r"^points must be a whole number from 0 to 10, got "):
        check_whole("points", number, most=10)


@pytest.mark.parametrize("number", [0, 10, np.int8(3), np.uint64(4)])
def test_whole_numbers_of_all_types_are_numbers_of_python(number):
    assert type(check_whole("points", number, most=10)) is int


def test_seeds_are_below_2_to_the_32():
    assert check_seed(2**32 - 1) == 2**32 - 1
    with pytest.raises(UserError, match="the seed must be a whole number from 0 to 4294967295"):
        check_seed(2**32)


def test_a_name_that_is_no_text_is_unknown():
    with pytest.raises(UserError, match=r"unknown part array\(\[\]"):
        check_name("part", np.array([]), ["lupi"])
