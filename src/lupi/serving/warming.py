"""What is compiled before the first question, so that no click waits for it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from lupi.errors import UserError
from lupi.serving.answering import Answering
from lupi.serving.catalogue import Catalogue, Served
from lupi.serving.contract import ForecastRequest, Readiness
from lupi.serving.truth import true_course

SIZES = (0, 17, 33)
"""Numbers of observations, of each of which another program is compiled: up to 16, 32 and, of the
first model, 64."""

NUM_TIMES = 121
"""As the page asks for."""


URGENT = 3
"""Steps that are for what is shown first; the others wait until nobody asks, who would wait for
them."""


class Warming:
    """Compiles in a thread of its own, what is shown first at first."""

    def __init__(self, catalogue: Catalogue, is_quiet: Callable[[], bool] = lambda: True):
        self._steps, self._is_quiet = list(_steps(catalogue)), is_quiet
        self._done = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="lupi-warming")

    @property
    def readiness(self) -> Readiness:
        """How far it is."""
        return Readiness(done=self._done, total=len(self._steps))

    @property
    def is_running(self) -> bool:
        """Whether something may be being compiled."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin; it goes on by itself."""
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stop.set()

    def _run(self) -> None:
        for step in self._steps:
            while self._done >= URGENT and not self._is_quiet() and not self._stop.is_set():
                self._stop.wait(0.1)
            if self._stop.is_set():
                return
            with suppress(UserError):  # whoever asks the same is told what is wrong with it
                step()
            self._done += 1


def _steps(catalogue: Catalogue) -> Iterator[Callable[[], object]]:
    models = list(catalogue.models.values())
    others = [(size, model, None) for size in SIZES[:2] for model in models[1:]]
    encoders = [(0, model, "amortised") for model in models if model.inference != "amortised"]
    first = [(size, model, None) for model in models[:1] for size in SIZES[:2]]
    last = [(size, model, None) for model in models[:1] for size in SIZES[2:]]
    systems = dict.fromkeys(model.system for model in models if model.system is not None)
    for name in list(systems)[:1]:  # all but the numbers are the same in the others
        yield lambda name=name: true_course(name, 0, {})
    for size, model, inference in [*first, *others, *last, *encoders]:
        yield lambda size=size, model=model, inference=inference: _ask(model, size, inference)
    for name in list(systems)[1:]:
        yield lambda name=name: true_course(name, 0, {})


def _ask(model: Served, size: int, inference: str | None) -> None:
    """A question of so many observations, each of them what is usual."""
    units, info = model.forecaster.normalisation, model.info()
    usual = units.to_original_values(np.zeros((1, len(info.observed))))[0]
    rows = {name: [usual[j].item()] * size for j, name in enumerate(info.observed)}
    asked = ForecastRequest(
        observations={info.time: model.times(max(size, 2))[:size]} | rows if size else None,
        times=model.times(NUM_TIMES),
        starts={"0": info.origin} if info.origin else None,
        known=info.known_usual or None,
        inference=inference,
        trajectories=2,
        quantiles=[0.25, 0.75],
    )
    for _ in Answering(model, asked).as_json():
        pass
