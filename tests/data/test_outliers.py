"""Numbers that may stand for something else."""

import numpy as np
import pytest

from lupi.data import read_series
from lupi.data.outliers import find_outliers
from lupi.data.suggestions import suggest
from lupi.errors import UserError

ROLES = {"series": "run", "time": "t", "observed": "x", "privileged": "k"}


def table(**changed):
    """Two runs of ten rows of a sine wave."""
    t = np.tile(np.arange(10.0), 2)
    columns = {"run": np.repeat(["a", "b"], 10), "t": t, "x": np.sin(t), "k": np.repeat([1, 2], 10)}
    return read_series(columns | changed, **ROLES)


def with_value(value, rows=(13,)):
    x = np.sin(np.tile(np.arange(10.0), 2))
    x[list(rows)] = value
    return x


@pytest.mark.parametrize("value", [-9999.0, 999.0, 1e6])
def test_a_number_far_from_all_others_is_named_with_its_place(value):
    (sentence, *_) = find_outliers(table(x=with_value(value)))
    assert sentence.startswith(f"'x' is {value:g} at the time 3.0 of series 'b'")
    assert "leave the field empty" in sentence


def test_a_code_for_nothing_is_named_however_many_there_are():
    (sentence, *_) = find_outliers(table(x=with_value(-9999.0, rows=range(3, 13))))
    assert "the first of 10 such" in sentence


@pytest.mark.parametrize("value", [1e36, -1e99])
def test_a_number_that_drowns_all_others_is_a_problem(value):
    with pytest.raises(UserError, match=r"column 'x': expected values that one scale can hold"):
        table(x=with_value(value))
    columns = {"run": np.repeat(np.arange(25), 2), "t": np.tile([0.0, 1.0], 25)}
    columns["k"] = np.repeat(np.where(np.arange(25) == 3, value, np.arange(25)), 2)
    with pytest.raises(UserError, match=r"column 'k': expected values that one scale can hold"):
        read_series(columns | {"x": np.sin(np.arange(50.0))}, **ROLES)


def test_outliers_are_among_the_suggestions_of_a_check():
    assert any("-9999" in one for one in suggest(table(x=with_value(-9999.0))))


@pytest.mark.parametrize(
    "x",
    [
        np.sin(np.arange(20.0)),
        np.exp(np.random.default_rng(0).normal(0, 2, 20)),  # skewed, but not apart
        np.repeat([0.0, 5.0], [19, 1]),  # mostly nothing, and then something
        np.linspace(-9999, 9999, 20),
    ],
)
def test_numbers_among_others_are_no_outliers(x):
    assert find_outliers(table(x=x)) == []


@pytest.mark.parametrize("value", [-9999.0, 1e5])
def test_a_privileged_number_far_from_all_others_is_named_with_its_series(value):
    k = np.arange(25.0)
    k[3] = value
    columns = {"run": np.repeat(np.arange(25), 2), "t": np.tile([0.0, 1.0], 25)}
    columns |= {"k": np.repeat(k, 2), "x": np.sin(np.arange(50.0))}
    (sentence,) = find_outliers(read_series(columns, **ROLES))
    assert sentence.startswith(f"'k' is {value:g} in series 3, and from 0 to 24 everywhere else")
