"""What is asked over HTTP is what Python gives, or a message."""

import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lupi.serving import answering
from lupi.serving.contract import ForecastAnswer, ModelList, Truth

SEEN = {"t": [0.0, 0.6, 1.1], "x1": [1.0, 0.8, None], "x2": [-1.0, -0.8, -0.5]}
TIMES = [0.5, 3.0, 8.0]


def ask(client, **fields):
    return client.post("/v1/forecast", json={"observations": SEEN, "times": TIMES} | fields)


def many(number):
    """Observations of so many series, none like the other."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"series": np.repeat(np.arange(number), 2), "t": [0.1, 1.0] * number})
    table["x1"], table["x2"] = rng.uniform(0.4, 1.0, (2, len(table))) * [[1], [-1]]
    return table


def as_columns(table):
    return table.to_dict("list")


def test_models_are_told_with_their_columns_and_ranges(client):
    told = ModelList.model_validate(client.get("/v1/models").json())
    quick, springs = told.models
    assert (quick.name, quick.inference, quick.file) == ("quick", "amortised", "quick.lupi")
    assert (springs.label, springs.system) == ("LUPI", "stiffness")
    assert springs.observed == ["x1", "x2"]
    assert springs.gaps
    assert springs.span == [0.0, pytest.approx(10.0, abs=0.1)]
    assert springs.ranges["x1"][0] < -0.1 < 0.7 < springs.ranges["x1"][1]


def test_a_forecast_is_that_of_python(client, catalogue):
    answer = ForecastAnswer.model_validate(
        ask(client, model="stiffness-lupi", quantiles=[0.25], trajectories=3, seed=5).json()
    )
    forecast = catalogue.get("stiffness-lupi").forecaster.predict(SEEN, TIMES, seed=5)
    (one,) = answer.series
    assert one.times == TIMES
    lower, upper = forecast.interval()
    means = forecast.normalisation.to_original_values(forecast.mixture.means[:3])
    for j, name in enumerate(("x1", "x2")):
        assert one.mean[name] == forecast.mean[:, j].tolist()
        assert one.std[name] == forecast.std[:, j].tolist()
        assert one.lower[name] == lower[:, j].tolist()
        assert one.upper[name] == upper[:, j].tolist()
        assert one.quantiles["0.25"][name] == forecast.quantile(0.25)[:, j].tolist()
        assert one.trajectories[name] == means[:, :, j].tolist()
    assert one.privileged is not None
    assert one.privileged["k"].mean == forecast.privileged.mean[0, 0]
    assert one.surprise == forecast.surprise[0]
    assert one.best_next_time.time == forecast.best_next_time()["t"][0]


def test_without_observations_it_is_what_the_model_believes_of_the_family(client, catalogue):
    (one,) = ask(client, observations=None).json()["series"]
    assert one["observations"] == 0
    expected = catalogue.get("quick").forecaster.predict(None, TIMES)
    assert one["mean"]["x1"] == expected.mean[:, 0].tolist()


def test_the_encoder_alone_can_be_asked(client, catalogue):
    answer = ask(client, model="stiffness-lupi", inference="amortised").json()
    assert answer["inference"] == "amortised"
    assert answer["series"] == ask(client, model="quick").json()["series"]


def test_of_several_series_those_that_can_be_are_forecast_and_the_others_told(client):
    seen = {"series": ["a", "b", "a"], "t": [0.0, 0.0, 1.0]}
    seen |= {"x1": [1.0, 99.0, 0.5], "x2": [-1.0, -1.0, -0.5]}
    answer = ForecastAnswer.model_validate(ask(client, observations=seen).json())
    assert [one.label for one in answer.series] == ["a"]
    assert "standard deviations" in answer.refused["b"]


def test_times_and_privileged_values_can_be_given_by_series(client, catalogue):
    seen = as_columns(many(2))
    answer = ask(
        client,
        observations=seen,
        times={"0": TIMES, "1": [1.0, 2.0, 4.0]},
        privileged={"1": {"k": 0.5}},
    ).json()
    expected = catalogue.get("quick").forecaster.predict(
        seen, {0: TIMES, 1: [1.0, 2.0, 4.0]}, privileged={1: {"k": 0.5}}
    )
    assert answer["series"][1]["mean"]["x2"] == expected[1].mean[:, 1].tolist()


@pytest.fixture(scope="module")
def forty(catalogue):
    return catalogue.get("quick").forecaster.predict(many(40), TIMES)


def test_many_series_are_answered_in_parts_with_the_same_numbers(client, forty):
    response = ask(client, observations=as_columns(many(40)))
    assert "content-length" not in response.headers
    answer = ForecastAnswer.model_validate(response.json())
    assert [one.label for one in answer.series] == list(range(40))
    for one in answer.series:
        assert one.mean["x1"] == forty[one.label].mean[:, 0].tolist()


def test_of_many_series_a_bad_one_and_a_part_of_bad_ones_are_left_out(client, forty):
    table = many(40)
    table.loc[table["series"] < 17, "x1"] = 99.0
    answer = ask(client, observations=as_columns(table)).json()
    assert [one["label"] for one in answer["series"]] == list(range(17, 40))
    assert sorted(map(int, answer["refused"])) == list(range(17))
    assert answer["series"][0]["mean"]["x1"] == forty[17].mean[:, 0].tolist()
    table["x1"] = 99.0
    refused = ask(client, observations=as_columns(table))
    assert refused.status_code == 422
    assert "None of 40 can be forecast" in refused.json()["error"]


def csv_answer(client, table, **more):
    response = client.post(
        "/v1/forecast",
        params={"times": ",".join(map(str, TIMES)), "model": "quick"} | more,
        content=table.to_csv(index=False),
        headers={"content-type": "text/csv"},
    )
    assert response.headers["content-type"].startswith("text/csv"), response.text
    return pd.read_csv(io.StringIO(response.text))


@pytest.mark.parametrize("number", [2, 40])
def test_a_table_in_gives_the_table_out_that_python_has(client, forty, number):
    table = many(40)
    found = csv_answer(client, table[table["series"] < number], quantiles="0.25")
    expected = forty.to_dataframe(quantiles=[0.25])
    expected = expected[expected["series"] < number]
    pd.testing.assert_frame_equal(found.drop(columns="refused"), expected)
    assert found["refused"].isna().all()


def test_a_series_that_is_refused_is_a_row_of_the_table(client):
    table = many(3)
    table.loc[2, "x1"] = 99.0
    found = csv_answer(client, table)
    assert len(found) == 2 * len(TIMES) + 1
    assert "standard deviations" in found["refused"].iloc[-1]
    assert found["series"].iloc[-1] == 1


def test_accept_chooses_what_comes_out(client):
    asked = {"observations": SEEN, "times": TIMES}
    table = client.post("/v1/forecast", json=asked, headers={"accept": "text/csv"})
    assert table.text.splitlines()[0] == "t,x1,x1_std,x1_lower,x1_upper,x2,x2_std,x2_lower,x2_upper"
    seen = pd.DataFrame(SEEN).to_csv(index=False)
    kinds = {"content-type": "text/csv", "accept": "application/json"}
    answer = client.post("/v1/forecast?times=0.5,3,8", content=seen, headers=kinds).json()
    assert answer["series"] == ask(client).json()["series"]


MISTAKES = {
    "NaN": ('{"observations": {"t": [0, NaN]}}', "NaN is no JSON"),
    "no JSON": ("{", "expected JSON"),
    "deep JSON": ("[" * 100_000, "expected JSON"),
    "a long number": ('{"seed": ' + "9" * 5_000 + "}", "expected JSON"),
    "a list": ("[]", "expected a JSON object"),
    "an unknown field": ({"colour": 3}, "colour"),
    "a path": ({"observations": "/etc/passwd"}, "observations"),
    "an unknown column": ({"observations": {"t": [0], "y": [1]}}, "column 'x1'"),
    "an unknown model": ({"model": "quik"}, "Did you mean 'quick'?"),
    "an unknown inference": ({"inference": "magic"}, "unknown inference"),
    "columns of two lengths": ({"observations": {"t": [0], "x1": [1, 2], "x2": [1]}}, "one length"),
    "no rows": ({"observations": {"t": [], "x1": [], "x2": []}}, "expected rows"),
    "a cell that is a list": ({"observations": {"t": [0], "x1": [[1]], "x2": [1]}}, "one value"),
    "a label that is a list": (
        {"observations": {"series": [["a"]], "t": [0], "x1": [1], "x2": [1]}},
        "'series', row 1",
    ),
    "a time before all": ({"times": [-3]}, "go back to -3"),
    "a time far beyond": ({"times": [1e6]}, "ask for earlier times"),
    "infinity": ('{"times": [1e400]}', "expected times that are numbers"),
    "too many times": ({"times": [1.0] * 5_000}, "at most 4,096"),
    "a date": ({"times": ["2020-01-01"]}, "numbers"),
    "a level beyond 1": ({"quantiles": [1.5]}, "between 0 and 1"),
    "no coverage": ({"coverage": 0}, "coverage"),
    "a seed below 0": ({"seed": -1}, "seed"),
    "too many samples": ({"num_samples": 10_000}, "num_samples"),
    "a lone surrogate": ('{"model": "\\ud800"}', "unknown model"),
    "a privileged value of nothing": ({"privileged": {"q": 1}}, "privileged"),
}


@pytest.mark.parametrize(("body", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_422(client, body, said):
    response = client.post(
        "/v1/forecast",
        content=body if isinstance(body, str) else json.dumps(body),
        headers={"content-type": "application/json"},
    )
    assert response.status_code == 422
    assert said in response.json()["error"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "line of column names"),
        ("t,x1,x2\n0,1\n", "expected 3 values"),
        ("t,x1,x1\n0,1,1\n", "different names"),
        ("t,x1,x2\n0,1,abc\n", "expected a number, got 'abc'"),
        (b"t,x1,x2\n0,\xff,1\n", "UTF-8"),
        ('t,x1,x2\n"0,1,1\n', "expected CSV"),
    ],
)
def test_a_mistake_in_a_table_is_told_with_422(client, table, said):
    response = client.post("/v1/forecast", content=table, headers={"content-type": "text/csv"})
    assert response.status_code == 422
    assert said in response.json()["error"]


def test_more_rows_than_an_answer_may_have_are_refused(client, monkeypatch):
    monkeypatch.setattr(answering, "MOST_ROWS", 100)
    response = ask(client, observations=as_columns(many(40)))
    assert response.status_code == 422
    assert "at most 100 rows" in response.json()["error"]


def test_threads_that_ask_at_once_have_the_same_numbers(client):
    alone = [ask(client, seed=seed).json() for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda seed: ask(client, seed=seed).json(), range(6)))
    assert together == alone


def test_the_truth_of_a_seed_is_drawn_and_parameters_are_as_given(client):
    drawn = Truth.model_validate(client.get("/v1/systems/stiffness?seed=3").json())
    assert drawn == Truth.model_validate(client.get("/v1/systems/stiffness?seed=3").json())
    (k,) = drawn.parameters
    assert drawn.privileged == {"k": pytest.approx(k.value)}
    given = Truth.model_validate(client.get("/v1/systems/stiffness?seed=3&k=0.4").json())
    # Masses that mirror each other: x1'' = -3 k x1 - c x1', with c = 1 and x1 = 1 at rest.
    t, w = np.array(given.times), np.sqrt(3 * 0.4 - 0.25)
    exact = np.exp(-t / 2) * (np.cos(w * t) + np.sin(w * t) / (2 * w))
    np.testing.assert_allclose(given.values["x1"], exact, atol=1e-6)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("stiffness?k=7", "k must be from 0.1 to 1.5"),
        ("stiffness?k=x", "k must be from"),
        ("stiffness?q=1", "unknown parameter"),
        ("stiffness?seed=-1", "seed"),
        ("stiffness?seed=x", "seed"),
        ("stifness", "Did you mean 'stiffness'?"),
    ],
)
def test_a_truth_that_does_not_exist_is_told_with_422(client, path, said):
    response = client.get(f"/v1/systems/{path}")
    assert response.status_code == 422
    assert said in response.json()["error"]


def test_requests_and_errors_are_counted(client):
    ask(client)
    text = client.get("/metrics").text
    assert 'lupi_requests_total{method="POST",path="/v1/forecast",status="200"}' in text
    assert 'lupi_request_seconds_bucket{path="/v1/forecast",le="+Inf"}' in text
    assert "lupi_errors_total 0" in text
    client.get("/nowhere/at/all")
    assert "/nowhere" not in client.get("/metrics").text


def test_the_contract_is_told_to_programs(client):
    told = client.get("/openapi.json").json()
    assert {"/v1/models", "/v1/forecast", "/v1/systems/{name}", "/healthz", "/metrics"} == set(
        told["paths"]
    )
    asked = told["paths"]["/v1/forecast"]["post"]["requestBody"]["content"]
    assert "observations" in asked["application/json"]["schema"]["properties"]
    example = asked["application/json"]["example"]
    assert client.post("/v1/forecast", json=example).status_code == 200


def test_what_the_docs_ask_is_answered(client):
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text()
    asked = json.loads(re.search(r"-d '(\{.*?\})'", page, re.DOTALL)[1])
    assert client.post("/v1/forecast", json=asked).status_code == 200
    (path,) = re.findall(r"'http://127.0.0.1:8765(/v1/forecast\?.*?)'", page)
    table = pd.DataFrame(SEEN).to_csv(index=False)
    answer = client.post(path, content=table, headers={"content-type": "text/csv"})
    assert len(answer.text.splitlines()) == 4
    for told in re.findall(r"`GET (/\S+)`", page):
        assert client.get(told.replace("{name}", "stiffness")).status_code == 200
