"""How long runs take, about: before they start, and of what is left of them."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from lupi.experiments.comparison import NUM_SAMPLES, NUM_SYSTEMS
from lupi.experiments.contestants import AMORTISED, Contestant
from lupi.experiments.running import SEEDS_TOGETHER
from lupi.experiments.settings import ReproductionSettings
from lupi.registry import ModelSettings

SECONDS_OF_STEP, SECONDS_TO_JUDGE, SECONDS_OF_RIVAL = 0.003, 25.0, 2.0
"""Of one core: for a step of a network of the best preset (batches of 8, width 64), for judging one
with all samples and systems, and for a rival."""

SECONDS_TO_COMPILE = 20.0
"""A model and all the ways it is judged, for each experiment."""

SLOW_RIVALS = {
    "gp": 15.0,
    "equations": 12.0,
    "ideal": 20.0,
    "neural-ode": 60.0,
    "anode": 60.0,
    "sonode": 60.0,
}
"""Those that compute more for each forecast."""

TIMES_AS_LONG = {
    "neural-process": 0.4,
    "conditional-process": 0.4,
    "second-order-process": 1.2,
    "attentive-process": 1.4,
    "bayesian-ode": 1.5,
    "latent-ode": 2.2,
}
"""A step of training, by the kind of process, beside that of a neural ODE process."""

SHARE_OF_SAMPLES = 1.1
"""How far a step grows with each sample of z that an objective asks for."""


class Expected(NamedTuple):
    """Seconds of one core for one run, on a machine as fast as the one where this was measured."""

    training: float
    judging: float


def expected_run(settings: ReproductionSettings, experiment: str, model: str) -> Expected:
    """About how long one model of these settings takes on one experiment."""
    run = settings.experiments[experiment]
    size = run.evaluation.num_systems * run.evaluation.num_samples
    share = 0.2 + 0.8 * size / (NUM_SYSTEMS * NUM_SAMPLES)
    base, *changes = model.split(":")
    if model not in settings.models:
        return Expected(0.0, SLOW_RIVALS.get(base, SECONDS_OF_RIVAL) * share)
    made_of = settings.models[model]
    steps = run.training.num_epochs(run.data.num_training) * max(
        1, run.data.num_training // run.training.batch_size
    )
    # A step grows with the series in it and with the width of the network.
    width = getattr(made_of.process, "hidden_size", 64)
    step = SECONDS_OF_STEP * run.training.batch_size / 8 * width / 64 * _times_as_long(made_of)
    searches = run.evaluation.refined and AMORTISED not in changes
    return Expected(steps * step, SECONDS_TO_JUDGE * share * (1.0 if searches else 0.1))


def expected_seconds(
    settings: ReproductionSettings,
    chosen: Iterable[Contestant],
    experiments: Iterable[str],
    *,
    seeds: int,
    workers: int,
) -> float:
    """About how long it takes on so many cores.

    A call is on one core and has up to three seeds of one model and one experiment; all three are
    trained, whichever are asked for.
    """
    chosen, calls = list(chosen), []
    for experiment in experiments:
        for one in chosen:
            training, judging = expected_run(settings, experiment, one.name)
            trained = SEEDS_TOGETHER * training + (0.0 if one.is_rival else SECONDS_TO_COMPILE)
            calls += [
                trained + judging * min(SEEDS_TOGETHER, seeds - first)
                for first in range(0, seeds, SEEDS_TOGETHER)
            ]
    return packed(calls, workers)


def packed(seconds: Iterable[float], workers: int) -> float:
    """How long calls take side by side, the longest first, each where there is room first."""
    ends = [0.0] * workers
    for one in sorted(seconds, reverse=True):
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends)


def _times_as_long(model: ModelSettings) -> float:
    """A step of training, beside that of a neural ODE process with the paper's bound."""
    samples = getattr(model.objective, "num_samples", 1)
    of_samples = SHARE_OF_SAMPLES * samples if samples > 1 else 1.0
    return TIMES_AS_LONG.get(model.process.kind, 1.0) * of_samples
