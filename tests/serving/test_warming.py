"""What is compiled before anybody asks, and in which order."""

import threading
import time

from lupi.serving import warming
from lupi.serving.catalogue import Catalogue


def wait_for(condition):
    for _ in range(500):
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_what_is_not_shown_waits_until_nobody_asks(monkeypatch):
    done = []
    steps = [lambda i=i: done.append(i) for i in range(5)]
    monkeypatch.setattr(warming, "_steps", lambda catalogue: steps)
    quiet = threading.Event()
    found = warming.Warming(Catalogue([]), quiet.is_set)
    found.start()
    assert wait_for(lambda: found.readiness.done == 3)
    time.sleep(0.3)
    assert done == [0, 1, 2]
    assert not found.readiness.ready
    quiet.set()
    assert wait_for(lambda: found.readiness.ready)
    assert done == [0, 1, 2, 3, 4]


def test_a_server_that_stops_begins_nothing_more(monkeypatch):
    done = []
    steps = [lambda i=i: done.append(i) for i in range(5)]
    monkeypatch.setattr(warming, "_steps", lambda catalogue: steps)
    found = warming.Warming(Catalogue([]), lambda: False)
    found.start()
    assert wait_for(lambda: found.readiness.done == 3)
    found.stop()
    assert wait_for(lambda: not found.is_running)
    assert done == [0, 1, 2]


def test_every_model_is_asked_as_the_page_asks_it(catalogue, monkeypatch):
    asked = []
    monkeypatch.setattr(warming, "_ask", lambda model, *how: asked.append((model.name, *how)))
    monkeypatch.setattr(warming, "true_course", lambda *system: asked.append(system))
    for step in warming.Warming(catalogue)._steps:
        step()
    assert asked[:3] == [("stiffness", 0, {}), ("quick", 0, None), ("quick", 17, None)]
    assert ("stiffness-lupi", 17, None) in asked
    assert ("stiffness-lupi", 0, "amortised") in asked
