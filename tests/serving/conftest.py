"""A server of the built-in models, asked without a network."""

import pytest
from fastapi.testclient import TestClient

from lupi.serving.app import Server, ServerSettings
from lupi.serving.built_in import BUILT_IN, load_built_in
from lupi.serving.catalogue import Catalogue, Served


@pytest.fixture(scope="session")
def catalogue():
    """One of the built-in models with its inference and one without, which is quick to compile."""
    springs, name = load_built_in("stiffness-lupi"), "stiffness-lupi"
    quick = springs.with_inference("amortised")
    return Catalogue(
        [Served("quick", quick, file="quick.lupi"), Served(name, springs, system=BUILT_IN[name])]
    )


@pytest.fixture(scope="session")
def server(catalogue):
    return Server(catalogue, ServerSettings(warm=False))


@pytest.fixture(scope="session")
def client(server):
    with TestClient(server.app, base_url="http://127.0.0.1:8765") as client:
        yield client
