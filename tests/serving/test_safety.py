"""Who may ask, how much, and what browsers are told."""

import pytest
from fastapi.testclient import TestClient

from lupi.serving.app import FILES, Server, ServerSettings
from lupi.serving.safety import is_loopback

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def guarded(catalogue):
    settings = ServerSettings(warm=False, token=TOKEN, max_body=2_000)
    with TestClient(Server(catalogue, settings).app, base_url="http://localhost") as client:
        yield client


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "a@127.0.0.1", "127.0.0.1:x", "[::1"]
)
def test_a_request_to_another_name_is_refused(client, host):
    response = client.get("/v1/models", headers={"host": host})
    assert response.status_code == 400
    assert "--name" in response.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1234", "LOCALHOST", "[::1]:8765"])
def test_a_request_to_this_machine_is_answered_whatever_port_leads_here(client, host):
    assert client.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:9999",
        "http://localhost:8765",
        "http://[",
        "",
    ],
)
def test_a_page_of_another_site_is_refused(client, origin):
    response = client.get("/v1/models", headers={"origin": origin})
    assert response.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_an_image_on_a_page_of_another_site_asks_for_nothing(client, site):
    headers = {"sec-fetch-site": site}
    assert client.get("/v1/systems/stiffness", headers=headers).status_code == 403
    assert client.get("/", headers=headers).status_code == 200  # a link leads here


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_page_may_ask(client, site):
    own = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": site}
    assert client.get("/v1/models", headers=own).status_code == 200


def test_everything_but_the_page_needs_the_token_where_there_is_one(guarded):
    for path in ("/v1/models", "/metrics", "/openapi.json", "/v1/systems/stiffness"):
        assert guarded.get(path).status_code == 401
        wrong = guarded.get(path, headers={"authorization": f"Bearer {TOKEN}x"})
        assert wrong.status_code == 401
        right = guarded.get(path, headers={"authorization": f"Bearer {TOKEN}"})
        assert right.status_code == 200
    for path in (*FILES, "/healthz"):
        assert guarded.get(path).status_code == 200


def test_a_token_that_is_no_text_is_wrong(guarded):
    response = guarded.get("/v1/models", headers={"authorization": b"Bearer \xff\xfe"})
    assert response.status_code == 401


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_long_is_refused(guarded, announced):
    body = b'{"times": [' + b"1," * 2_000 + b"1]}"
    response = guarded.post(
        "/v1/forecast",
        content=body if announced else iter([body[:100], body[100:]]),
        headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
    )
    assert response.status_code == 413
    assert "--max-body" in response.json()["error"]


def test_a_form_cannot_ask_for_a_forecast(client):
    response = client.post("/v1/forecast", data={"model": "quick"})
    assert response.status_code == 415


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("POST", "/v1/models", 405), ("GET", "/../etc/passwd", 404)],
)
def test_what_is_not_there_is_told(client, method, path, status):
    response = client.request(method, path)
    assert response.status_code == status
    assert "/docs" in response.json()["error"]


def test_a_fault_of_ours_tells_nothing_of_the_inside(server, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("lupi.serving.app.true_course", fail)
    client = TestClient(server.app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    response = client.get("/v1/systems/stiffness")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "secret" in capsys.readouterr().err


def test_browsers_are_told_to_load_nothing_from_elsewhere_and_get_no_cookie(client):
    for path in (*FILES, "/v1/models", "/nothing", "/healthz"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers


def test_addresses_of_this_machine_are_told_from_others():
    assert is_loopback("127.0.0.1")
    assert is_loopback("127.8.9.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("192.0.2.1")
    assert not is_loopback("example.org")
