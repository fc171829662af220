"""Many clients at once, and clients that are slow or gone, of a real server."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx2 as httpx
import numpy as np
import pytest

from live_server import serving
from lupi.serving.app import ServerSettings


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
    head = b"POST /v1/forecast HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    half = [connected(address) for _ in range(30)]
    for i, client in enumerate(half):
        client.sendall(head[:40] if i % 2 else head + b"Content-Length: 1000\r\n\r\n{")
    rows = np.arange(1_200)
    many = {"series": (rows // 2).tolist(), "t": (rows % 2).tolist()}
    many |= {"x1": [0.5] * 1_200, "x2": [-0.5] * 1_200}
    body = json.dumps({"observations": many}).encode()
    deaf, gone = connected(address), connected(address)
    for client in (deaf, gone):
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    gone.close()
    answers = [httpx.post(f"{address}v1/forecast", json=asked(i), timeout=60) for i in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5
    for client in (*half, deaf):
        client.close()


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
