"""Columns that are known of new series too, and categories, as they are read."""

import numpy as np
import pandas as pd
import pytest

import lupi
from lupi.data.inputs import Inputs
from lupi.data.known import KNOTS, make_path
from lupi.data.normalisation import Normalisation, to_tasks
from lupi.errors import UserError

ROWS = pd.DataFrame(
    {
        "run": ["a", "a", "a", "b", "b"],
        "t": [0.0, 1.0, 2.0, 0.0, 3.0],
        "x": [1.0, 2.0, np.nan, 4.0, 6.0],
        "dose": [3.0, 3.0, 3.0, 5.0, 5.0],
        "heat": [10.0, np.nan, 20.0, 30.0, 30.0],
        "site": ["north", "north", "north", "south", "south"],
        "pill": [1.0, np.nan, 2.0, np.nan, 4.0],
    }
)
COLUMNS = {"series": "run", "time": "t", "observed": "x"}


def read(**arguments):
    return lupi.read_series(ROWS, **COLUMNS, **arguments)


def test_what_does_not_change_has_one_knot():
    table = read(known=["dose", "site"])
    assert table.columns.categories == {"site": ("north", "south")}
    assert not table.known.varies
    np.testing.assert_array_equal(table.known.values, [[3, 1, 0], [5, 0, 1]])


def test_a_course_goes_on_where_nothing_is_observed():
    path = read(known="heat").known.path(0)
    np.testing.assert_allclose(
        path.at(np.array([-1.0, 0.5, 1.0, 2.0, 9.0]))[:, 0], [10, 12.5, 15, 20, 20]
    )


def test_events_add_up_and_jump():
    path = read(events="pill").known.path(0)
    np.testing.assert_allclose(path.at(np.array([0.0, 1.0, 1.99, 2.0, 5.0]))[:, 0], [1, 1, 1, 3, 3])


def test_a_path_as_the_model_has_it_is_that_of_the_table():
    times = np.array([0.0, 0.2, 0.5, 1.0])
    values = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 2.0], [2.0, 2.0]])
    path = make_path(times, values, np.array([False, True]))
    inputs = Inputs(path.times.astype(np.float32), path.values.astype(np.float32))
    asked = np.array([-0.1, 0.0, 0.1, 0.3, 0.499, 0.5, 0.7, 1.0, 2.0])
    np.testing.assert_allclose(inputs.at(asked), path.at(asked), atol=1e-5)
    np.testing.assert_allclose(path.at(asked)[:, 0], np.interp(asked, times, values[:, 0]))
    np.testing.assert_array_equal(path.at(asked)[:, 1], [1, 1, 1, 1, 1, 2, 2, 2, 2])


def test_tasks_have_inputs_of_one_scale_and_categories_of_0_and_1():
    table = read(known=["heat", "site"])
    tasks = to_tasks(table, Normalisation.of(table))
    assert tasks.inputs.values.shape == (2, KNOTS, 3)
    assert set(np.unique(tasks.inputs.values[..., 1:])) == {0.0, 1.0}
    assert abs(tasks.inputs.values[..., 0]).max() < 3
    taken = tasks.take(np.array([1]), length=2, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(taken.observations.inputs.values[0], tasks.inputs.values[1])


def test_a_long_course_keeps_its_ends():
    times = np.linspace(0, 1, 500)
    rows = pd.DataFrame({"t": times, "x": times, "u": times**2})
    table = lupi.read_series(rows, time="t", observed="x", known="u")
    knots, values = table.known.arrays(KNOTS)
    assert (knots[0, 0], knots[0, -1], values[0, -1, 0]) == (0.0, 1.0, 1.0)


def test_privileged_categories_are_columns_of_0_and_1():
    table = read(privileged="site")
    assert table.columns.privileged == ("site=north", "site=south")
    assert table.columns.privileged_sources == ("site",)
    np.testing.assert_array_equal(table.privileged, [[1, 0], [0, 1]])


def test_numbers_may_stand_for_kinds():
    assert read(known="dose", categories=["dose"]).columns.categories == {"dose": ("3", "5")}


@pytest.mark.parametrize(
    ("known", "message"),
    [("dose", "column 'Dose': expected categories .* name one of 'dose'"), ((), "as one of these")],
)
def test_categories_of_a_column_that_has_none_are_refused(known, message):
    with pytest.raises(UserError, match=message):
        read(known=known, categories=["Dose"])


def test_rows_that_tell_only_what_is_known_are_not_left_out():
    assert ROWS["x"].isna().sum() == 1
    assert read(events="pill").left_out == {}
    assert read(privileged="dose").left_out == {"rows": {"without an observed value": 1}}


def test_a_run_of_which_nothing_is_observed_is_left_out_and_counted():
    unseen = pd.DataFrame({"run": ["c"], "t": [0.0]})
    table = lupi.read_series(pd.concat([ROWS, unseen]), **COLUMNS, known="dose")
    assert table.fingerprint() == read(known="dose").fingerprint()
    reason = "without an observed value"
    assert table.left_out == {"rows": {reason: 1}, "series": {reason: 1}}


def test_a_column_of_text_that_is_observed_is_told_to_be_known():
    with pytest.raises(UserError, match=r"got 'north'.* named in `known` \(--known\)"):
        lupi.read_series(ROWS, **COLUMNS | {"observed": ["x", "site"]})


def test_the_fingerprint_knows_what_is_known():
    changed = ROWS.assign(dose=ROWS["dose"] * 2)
    other = lupi.read_series(changed, **COLUMNS, known="dose")
    assert other.fingerprint() != read(known="dose").fingerprint()


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        (ROWS, {"categories": {"site": ("north",)}, "known": "site"}, "one of the categories"),
        (ROWS.assign(dose=[3, 3, 3, np.nan, np.nan]), {"known": "dose"}, "every series"),
        (ROWS.assign(dose=["3", "3", "3", "5", "5x"]), {"known": "dose"}, "expected a number"),
        (ROWS, {"known": "x"}, "one role"),
        (
            pd.DataFrame({"run": range(70), "t": 0.0, "x": 1.0, "s": [f"k{i}" for i in range(70)]}),
            {"known": "s"},
            "at most 64 categories",
        ),
    ],
)
def test_what_cannot_be_known_is_pointed_out(rows, arguments, message):
    _, problems = lupi.check_series(rows, **COLUMNS, **arguments)
    assert any(message in str(problem) for problem in problems), problems


def test_the_summary_says_what_is_known():
    known = lupi.data.summarise(read(known=["dose", "heat", "site"]))["known"]
    assert known["dose"] == {"min": 3.0, "max": 5.0, "changes": False}
    assert known["heat"]["changes"]
    assert known["site"] == {"categories": ["north", "south"], "changes": False}


def test_windows_have_their_part_of_what_is_known():
    t = np.arange(6.0)
    rows = pd.DataFrame({"t": t, "x": t, "u": 10 * t, "pill": [1.0, 0, 2.0, 0, 4.0, 0]})
    table = lupi.read_series(rows, time="t", observed="x", known="u", events="pill", window=3)
    first, second = (table.known.path(i) for i in range(2))
    np.testing.assert_allclose(first.at(np.array([0.0, 1.5, 2.0])), [[0, 1], [15, 1], [20, 3]])
    np.testing.assert_allclose(second.at(np.array([0.0, 0.9, 1.0])), [[30, 0], [39, 0], [40, 4]])


@pytest.mark.parametrize("nothing", ["NA", "nan", " ", None])
def test_a_category_that_says_nothing_is_none(nothing):
    rows = ROWS.assign(site=["north", nothing, nothing, "south", "south"])
    table = lupi.read_series(rows, **COLUMNS, known="site")
    assert table.columns.categories == {"site": ("north", "south")}
    np.testing.assert_array_equal(table.known.values, [[1, 0], [0, 1]])
