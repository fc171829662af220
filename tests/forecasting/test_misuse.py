"""Mistakes in Python: each is a `UserError` that says what was expected.

They are made in a process of their own, in which nothing but lupi itself looks at types.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

OLD_FILES = Path(__file__).parents[1] / "old_files"

PREPARE = """
import datetime, json, sys
import numpy as np
import pandas as pd
import lupi
model = lupi.load(sys.argv[1])
new = pd.DataFrame({"run": "a", "t": [0.5, 1.0, 1.5], "x": [9.0, 10.0, 11.0], "y": [1.0, 2.0, 3.0]})
ROLES = {"time": "t", "observed": ["x", "y"]}
def predict(**changed):
    return model.predict(**({"observations": new, "times": [1.0]} | changed))
def read(source=new, **changed):
    return lupi.read_series(source, **(ROLES | changed))
forecast = predict()
results = {}
for expression in json.load(sys.stdin):
    try:
        eval(expression)
        results[expression] = "nothing was raised"
    except Exception as error:
        results[expression] = f"{type(error).__name__}: {error}"
json.dump(results, sys.stdout)
"""

MISTAKES = {
    # Whole numbers
    "predict(seed=1.5)": "the seed must be a whole number from 0 to 4294967295, got 1.5",
    "predict(seed='3')": "the seed must be a whole number",
    "predict(seed=2**63)": "the seed must be a whole number",
    "predict(num_samples=1.5)": "num_samples must be a whole number from 2 .*, got 1.5",
    "predict(num_samples=64.0)": "num_samples must be a whole number",
    "predict(num_samples=True)": "num_samples must be a whole number",
    "predict(num_samples=10**5000)": "num_samples must be a whole number.*a very long int",
    "lupi.evaluate(model, read(), seed=-1)": "the seed must be a whole number.*got -1",
    "lupi.evaluate(model, read(), context=f'1:{2**70}')": "two numbers of random observations",
    "lupi.evaluate(model, read(), context=5)": "two numbers of random observations.*got 5",
    "lupi.evaluate(model, new)": "the series that `read_series` gives, got DataFrame",
    "read(min_points=1.5)": "min_points must be a whole number from 1",
    "read(min_points=0)": "min_points must be a whole number from 1",
    "predict(observations='none.csv')": "expected a file, found none",
    # Times
    "predict(times=[[0], [1, 2]])": "times must be one list of numbers or dates",
    "predict(times=[[1, 2], [3, 4]])": "times must be one list of numbers or dates",
    "predict(times=np.ma.array([1, 2], mask=[0, 1]))": "one or more finite numbers",
    "predict(times=[10**400])": "expected times that are numbers",
    "predict(times=object())": "expected times that are numbers",
    "predict(times=b'\\x80')": "expected times that are numbers",
    # What is known of new runs
    "predict(starts={'a': 1})": "one clock for all series",
    "predict(starts=[1])": "expected the name of a column, or a dictionary.*got list",
    "predict(starts=3)": "expected the name of a column, or a dictionary.*got int",
    "predict(privileged={'a': 3})": "expected a value for each of k",
    "predict(privileged={'k': float('inf')})": "k = inf, expected a finite number",
    "predict(privileged={'k': 1e308})": r"k = 1e\+308, expected a finite number",
    "predict(by=3)": "unknown part of the forecaster 3",
    # Answers
    "forecast.quantile([])": r"one or a list, got \[\]",
    "forecast.quantile('a')": "one or a list, got a",
    "forecast.to_dataframe(quantiles=0.5)": "must be a list of numbers",
    "forecast.to_dataframe(quantiles=['a'])": "must be a list of numbers",
    "forecast.interval(coverage='a')": "coverage must be between 0 and 1, got a",
    "forecast[[1]]": r"expected the label of a series, got \[1\]",
    # Names of columns
    "read(observed=None)": "`observed`: expected the name of a column or a list",
    "read(observed=[3])": "`observed`: expected the name of a column as text, got 3",
    "read(time=0)": "`time`: expected the name of a column as text, got 0",
    "read(series=3)": "`series`: expected the name of a column as text",
    "read(units=3)": "`units`: expected the unit of each column",
    "read(limits=3)": "`limits`: expected a lower and an upper number",
    "read(clock=3)": "unknown clock 3",
    "read(new.assign(t=[[0], [1, 2], [3]]))": "column 't', row 1: expected one value in each row",
    # Settings
    "lupi.Forecaster(3)": "the name of a preset or what `forecaster_settings` gives, got int",
    "lupi.forecaster_settings(train=[('epochs', 1)])": "`train`: expected settings by name",
    "lupi.forecaster_settings(train={'epochs': 10**5000})": "got a very long int",
    "lupi.forecaster_settings(train={'context_sizes': (1, 2**31)})": "less than or equal to",
    "lupi.forecaster_settings(members=1.5)": "setting members: .*, got 1.5",
}


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, "-c", PREPARE, str(OLD_FILES / "forecaster.lupi")],
        input=json.dumps(list(MISTAKES)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_user_error_that_says_what_was_expected(results, mistake):
    assert re.match(f"UserError: .*{MISTAKES[mistake]}", results[mistake]), results[mistake]
