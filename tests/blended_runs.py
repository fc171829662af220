"""A table of ten runs, and a small forecaster of several networks, blended, that tests share."""

import numpy as np
import pandas as pd

import lupi

COLUMNS = {"series": "run", "time": "t", "observed": ["x", "y"], "privileged": ["k"]}
SETTINGS = lupi.forecaster_settings(
    members=3,
    inference="amortised",
    find_positive=False,
    process={"hidden_size": 8, "representation_size": 8},
    train={"epochs": 4, "batch_size": 4, "keep_best": False},
)


def make_runs(number: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    runs = []
    for i in range(number):
        k, t = rng.uniform(1, 2), np.sort(rng.uniform(0, 5, rng.integers(5, 12)))
        run = pd.DataFrame({"run": f"r{i}", "t": t, "x": 10 + np.sin(k * t), "k": k})
        run["y"] = 100 * np.cos(k * t) + rng.standard_normal(len(t))
        runs.append(run)
    return pd.concat(runs, ignore_index=True)


RUNS = make_runs()


def fit(runs: pd.DataFrame) -> lupi.Forecaster:
    table = lupi.read_series(runs, **COLUMNS)
    return lupi.Forecaster(SETTINGS).fit(table, seed=0, progress=False)
