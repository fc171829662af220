"""Requests with anything in them: an answer or a message, never a fault of the server's."""

import json
from urllib.parse import quote

from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from fuzz.attack import CELLS, examples, model
from fuzz.law import is_over
from lupi.serving.app import Server, ServerSettings
from lupi.serving.catalogue import Catalogue, Served
from lupi.serving.contract import ForecastAnswer, ForecastRequest

SERVER = Server(Catalogue([Served("springs", model())]), ServerSettings(warm=False))
CLIENT = TestClient(SERVER.app, base_url="http://127.0.0.1", raise_server_exceptions=False)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 6)
    | st.sampled_from([2**31, 2**63, -(2**70), 1e300, float("nan"), float("inf"), "r1", "run"])
    | st.floats(0, 5)
    | CELLS
    | st.text(max_size=3)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["0", "r1", "k", "t", "run"]) | st.text(max_size=3), inner
        )
    ),
    max_leaves=8,
)
ROWS = st.lists(st.floats(0, 5), min_size=2, max_size=2)
SENSIBLE = st.fixed_dictionaries({"t": ROWS, "x": ROWS, "y": ROWS}, optional={"run": ANYTHING})
FIELDS = dict.fromkeys(ForecastRequest.model_fields, ANYTHING)


@examples(40)
@given(
    SENSIBLE | st.dictionaries(st.sampled_from(["t", "x", "y", "run"]), ANYTHING),
    st.lists(st.sampled_from([*FIELDS, "other"]), max_size=2).flatmap(
        lambda names: st.fixed_dictionaries(dict.fromkeys(names, ANYTHING))
    ),
)
def test_any_json_gets_an_answer_or_a_message(observations, others):
    if is_over():
        return
    asked = {"observations": observations, "times": [1.0, 2.0], "num_samples": 4} | others
    response = CLIENT.post(
        "/v1/forecast",
        content=json.dumps(asked).encode("utf-8", "surrogatepass"),
        headers={"content-type": "application/json"},
    )
    assert response.status_code in (200, 422), response.text
    if response.status_code == 200:
        ForecastAnswer.model_validate(response.json())
    else:
        assert response.json()["error"]


@examples(20)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=4), max_size=3),
    st.binary(max_size=8),
    st.dictionaries(st.sampled_from(["times", "seed", "model", "quantiles", "other"]), CELLS),
)
def test_any_table_gets_an_answer_or_a_message(rows, end, parameters):
    if is_over():
        return
    table = "\n".join(["t,x,y", "0,10,100", *(",".join(row) for row in rows)]).encode() + end
    response = CLIENT.post(
        "/v1/forecast",
        params=parameters,
        content=table,
        headers={"content-type": "text/csv"},
    )
    assert response.status_code in (200, 422), response.text


@examples(20)
@given(st.text(max_size=6), st.dictionaries(st.text(max_size=3), CELLS, max_size=2))
def test_any_address_gets_an_answer_or_a_message(name, parameters):
    if is_over():
        return
    response = CLIENT.get(f"/v1/systems/{quote(name)}", params=parameters)
    assert response.status_code < 500, response.text
