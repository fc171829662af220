"""Many clients at once, and clients that are slow or gone, of a real server."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2 as httpx
import numpy as np
import pytest

from live_server import serving
from lupi.serving.app import ServerSettings

HEAD = b"POST /v1/forecast HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture
def impatient(catalogue, monkeypatch):
    """A server that waits for clients a moment only."""
    monkeypatch.setattr("lupi.serving.running.PATIENCE", 0.5)
    yield from serving(catalogue, ServerSettings(warm=False))


@pytest.fixture(scope="module")
def address(catalogue):
    yield from serving(catalogue, ServerSettings(warm=False))


def asked(number):
    rng = np.random.default_rng(number)
    seen = {"t": [0.1, 1.0], "x1": rng.uniform(0.4, 1.0, 2).tolist(), "x2": [-0.9, -0.5]}
    return {"observations": seen, "times": [0.5, 3.0, 8.0]}


def connected(address):
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


def test_clients_that_are_slow_or_gone_hold_nothing(address):
    half = [connected(address) for _ in range(30)]
    for i, client in enumerate(half):
        client.sendall(HEAD[:40] if i % 2 else HEAD + b"Content-Length: 1000\r\n\r\n{")
    rows = np.arange(1_200)
    many = {"series": (rows // 2).tolist(), "t": (rows % 2).tolist()}
    many |= {"x1": [0.5] * 1_200, "x2": [-0.5] * 1_200}
    body = json.dumps({"observations": many}).encode()
    deaf, gone = connected(address), connected(address)
    for client in (deaf, gone):
        client.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    gone.close()
    answers = [httpx.post(f"{address}v1/forecast", json=asked(i), timeout=60) for i in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5
    for client in (*half, deaf):
        client.close()


def is_closed(client):
    """Whether the other side has ended it, after whatever it has said."""
    client.settimeout(10)
    try:
        while client.recv(2**16):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127"])
def test_a_request_that_does_not_come_in_time_is_not_waited_for(impatient, said):
    with connected(impatient) as client:
        client.sendall(said)
        assert is_closed(client)


@pytest.mark.parametrize(
    "said",
    [
        b"GET /healthz HTTP/1.1\r\nX: ",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\n",
    ],
    ids=["head", "body that nobody reads"],
)
def test_a_byte_now_and_then_does_not_hold_a_connection(impatient, said):
    started = time.monotonic()
    with connected(impatient) as client, suppress(OSError):
        client.sendall(said)
        while time.monotonic() - started < 15:
            client.sendall(b"X")
            time.sleep(0.05)
    assert time.monotonic() - started < 10


def test_a_client_that_takes_no_answer_is_let_go(impatient):
    rows = np.arange(1_200)
    many = {"series": (rows // 2).tolist(), "t": (rows % 2).tolist()}
    many |= {"x1": [0.5] * 1_200, "x2": [-0.5] * 1_200}
    body = json.dumps({"observations": many, "trajectories": 16}).encode()
    with connected(impatient) as deaf:
        deaf.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert deaf.recv(100).startswith(b"HTTP/1.1 200")
        told, turns = "", 0
        while "lupi_requests_running 1\n" not in told and turns < 200:  # the one that asks for it
            told, turns = httpx.get(f"{impatient}metrics", timeout=60).text, turns + 1
            time.sleep(0.1)
        assert "lupi_requests_running 1\n" in told
        received = len(deaf.recv(2**24, socket.MSG_WAITALL))
        assert received < 2**23  # not the whole of it


def test_a_client_that_goes_in_the_middle_of_its_request_is_no_fault_of_the_server(impatient):
    with connected(impatient) as client:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
    told, turns = "", 0
    while 'path="/v1/forecast"' not in told and turns < 100:
        told, turns = httpx.get(f"{impatient}metrics", timeout=60).text, turns + 1
        time.sleep(0.05)
    assert 'path="/v1/forecast",status="400"' in told
    assert "lupi_errors_total 0\n" in told


def test_a_head_without_end_is_refused(address):
    with connected(address) as client:
        with suppress(OSError):
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 2**20)
        assert is_closed(client)


@pytest.mark.slow
def test_fifty_clients_have_the_numbers_that_one_after_another_has(address):
    with httpx.Client(base_url=address, timeout=120) as client:
        alone = [client.post("v1/forecast", json=asked(i)).json() for i in range(50)]

    def ask(number):
        with httpx.Client(base_url=address, timeout=120) as client:
            return [client.post("v1/forecast", json=asked(number)).json() for _ in range(10)]

    with ThreadPoolExecutor(50) as pool:
        together = list(pool.map(ask, range(50)))
    for answers, expected in zip(together, alone, strict=True):
        assert all(answer == expected for answer in answers)
