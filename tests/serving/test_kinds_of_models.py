"""Models of dates, of categories and of columns that are known of new runs."""

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import lupi
from lupi.serving.app import Server, ServerSettings
from lupi.serving.catalogue import Catalogue, Served
from lupi.serving.contract import ModelList
from lupi.serving.warming import Warming


@pytest.fixture(scope="module")
def doses():
    """A forecaster of a decay over hours, with a dose and a group that are known."""
    rng = np.random.default_rng(0)
    frames = []
    for run in range(12):
        hours, dose = np.sort(rng.uniform(0, 24, 8)), rng.uniform(1, 4)
        began = pd.Timestamp("2024-03-01") + pd.Timedelta(days=run)
        frame = pd.DataFrame({"time": began + pd.to_timedelta(hours, unit="h")})
        frames.append(
            frame.assign(run=run, dose=dose, group="ab"[run % 2], y=dose * np.exp(-hours))
        )
    series = lupi.read_series(
        pd.concat(frames), series="run", time="time", observed="y", known=["dose", "group"]
    )
    settings = {"train": {"epochs": 1}, "process": {"hidden_size": 4, "representation_size": 4}}
    return lupi.Forecaster("paper", **settings).fit(series, progress=False)


@pytest.mark.slow
def test_dates_and_known_columns_are_told_asked_and_compiled_for(doses):
    catalogue = Catalogue([Served("doses", doses, file="doses.lupi")])
    with TestClient(
        Server(catalogue, ServerSettings(warm=False)).app, base_url="http://127.0.0.1"
    ) as client:
        (told,) = ModelList.model_validate(client.get("/v1/models").json()).models
        assert told.dates
        assert (told.clock, told.origin) == ("run", "2001-01-01T00:00:00")
        assert told.categories == {"group": ["a", "b"]}
        assert 1 < told.known_usual["dose"] < 4
        times = [told.span[0], told.span[1]]
        asked = {"times": times, "starts": {"0": told.origin}, "known": {"dose": 2.0, "group": "b"}}
        nothing = client.post("/v1/forecast", json=asked).json()
        assert nothing["series"][0]["times"] == times
        seen = {"time": [times[0][:11] + "06:00:00"], "y": [1.0]}
        some = client.post("/v1/forecast", json=asked | {"observations": seen}).json()
        expected = doses.predict(
            seen, times, starts={0: told.origin}, known={"dose": 2.0, "group": "b"}
        )
        assert some["series"][0]["mean"]["y"] == expected.mean[:, 0].tolist()
    warming = Warming(catalogue)
    for step in warming._steps:
        step()  # none of them is a mistake
