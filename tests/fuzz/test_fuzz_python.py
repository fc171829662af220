"""Questions from Python with anything in them: a finite forecast, or a message."""

import copy
import pickle

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from fuzz.attack import examples, model, runs
from fuzz.law import is_over
from lupi.errors import UserError

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 6) | st.sampled_from([2**31, 2**63, -(2**70)]),
    st.floats() | st.sampled_from([0.5, 1.0, 4.0]),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
)
LISTS = st.lists(VALUES, max_size=5) | st.lists(st.floats(0, 6), min_size=1, max_size=5)
ANYTHING = st.one_of(
    VALUES,
    LISTS,
    LISTS.map(tuple),
    st.lists(LISTS, max_size=2),
    st.dictionaries(VALUES.filter(lambda value: value == value), LISTS | VALUES, max_size=2),
    st.lists(st.floats(0, 6), max_size=4).map(np.array),
    st.lists(st.floats(0, 6), max_size=4).map(lambda some: np.array(some, ">f8")),
    st.lists(st.floats(0, 6), min_size=2, max_size=2).map(
        lambda some: np.ma.array(some, mask=[True, False])
    ),
    st.lists(st.floats(0, 6), max_size=4).map(pd.Series),
    st.sampled_from([{"k": 1.0}, {"r1": {"k": 2.0}}, {"r1": 0.0}, "run", "none", {}, [], object]),
)


@st.composite
def observations(draw):
    """Some runs as a dictionary or a dataframe, with columns of anything."""
    some = runs().groupby("run").head(draw(st.integers(1, 3))).iloc[: draw(st.integers(0, 9))]
    columns = some.drop(columns="k").to_dict("list")
    for name in draw(st.lists(st.sampled_from([*columns, "z"]), max_size=2)):
        if draw(st.booleans()):
            columns[name] = draw(ANYTHING)
        else:
            columns.pop(name, None)
    if draw(st.booleans()):
        return columns
    try:
        return pd.DataFrame(columns)
    except (ValueError, TypeError, OverflowError):
        return columns


ARGUMENTS = {
    "observations": observations() | ANYTHING,
    "times": ANYTHING,
    "starts": ANYTHING,
    "known": ANYTHING,
    "privileged": ANYTHING,
    "by": ANYTHING,
    "num_samples": st.integers(-1, 9) | VALUES,
    "seed": VALUES,
}


@examples(20)
@given(
    observations(),
    st.lists(st.sampled_from([*ARGUMENTS]), max_size=2).flatmap(
        lambda names: st.fixed_dictionaries({name: ARGUMENTS[name] for name in names})
    ),
)
def test_any_question_gets_a_finite_forecast_or_a_message(seen, others):
    if is_over():
        return
    question = {"observations": seen, "times": [1.0, 2.0], "num_samples": 4} | others
    number = question["num_samples"]
    if isinstance(number, int) and number > 2**20:
        return  # as many as one asks for: memory is the limit, and not what is attacked here
    try:
        forecast = model().predict(**question)
    except (UserError, TypeCheckError):
        return
    assert np.isfinite(forecast.samples).all()
    assert np.isfinite(forecast.quantile([0.1, 0.9])).all()
    assert len(repr(forecast)) < 1000
    for again in (pickle.loads(pickle.dumps(forecast)), copy.deepcopy(forecast)):
        np.testing.assert_array_equal(again.samples, forecast.samples)
