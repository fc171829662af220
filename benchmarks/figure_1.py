"""Figure 1, drawn from trained models: `python -m benchmarks.figure_1 [neural process]`.

Two questions, each to a neural ODE, a neural process and a neural ODE process. Does it know how a
system goes on, later than it was seen, and later than any system was (Lotka-Volterra)? Does it make
anything of a few points of another system (stiffness)? Beside each example stands how it does on
100 systems: a figure of one could show anything.
"""

import sys
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.common import task_data, trained_process
from lupi.data import Observations, Task
from lupi.experiments import get_experiment, paper_settings
from lupi.experiments.systems import RunData, make_data
from lupi.models import AbstractPredictor, Prediction, build_process
from lupi.prediction import predict_many
from lupi.registry import MODELS
from lupi.report.abilities import Panel, Row, write_abilities
from lupi.report.write import ABILITIES
from lupi.rivals import RIVALS
from lupi.training import fit

LATER, OTHER = "lotka-volterra", "stiffness"
NEURAL_ODES = {LATER: "neural-ode", OTHER: "sonode"}
"""Of second order where velocities are not observed."""
NUM_SYSTEMS = 100
HORIZON = 10.0
"""Of both: until it, training shows what systems do."""
LAST_SEEN, NUM_SEEN = 0.7, 15
"""Of how a system goes on: the end and the number of its points."""
FEW = 5
"""Points of another system."""


def measure_figure_1(process: str = "np") -> dict:
    """Draw the figure, and give the numbers that stand in it."""
    data = {name: _data(name) for name in (LATER, OTHER)}
    processes = {name: _trained(process, data[name], name) for name in data}
    later, numbers = _later(data[LATER], processes[LATER], _colours(process))
    other, more = _other(data[OTHER], processes[OTHER], _colours(process))
    models = ["neural ODE", MODELS[process].label, "neural ODE process"]
    write_abilities(ABILITIES, models, [later, other])
    found = {"later": dict(zip(models, numbers, strict=True))}
    found["other"] = dict(zip(models, more, strict=True))
    for question, answers in found.items():
        for model, answer in answers.items():
            print(f"{question}: {model:20} {answer}", flush=True)
    return found


def _data(name: str) -> RunData:
    settings = paper_settings().experiments[name]
    return make_data(get_experiment(name), settings, key=jax.random.key(7))


def _trained(model: str, data: RunData, name: str) -> AbstractPredictor:
    """The neural process, as the paper trains its own."""
    settings = MODELS[model]
    size = data.training.observations.ys.shape[-1]
    process = build_process(settings.process, observation_size=size, key=jax.random.key(0))
    training = paper_settings().experiments[name].training
    process, _ = fit(
        process,
        data.training,
        data.validation,
        settings=training,
        objective=settings.objective,
        key=jax.random.key(1),
    )
    return process


def _ask(predictor: AbstractPredictor, contexts: Observations, ts: np.ndarray) -> Prediction:
    times = np.broadcast_to(ts.astype(np.float32), (len(contexts.ts), len(ts)))
    how = {"num_samples": 64, "horizon": 2, "brief": False}
    return predict_many(predictor, contexts, times, **how, keys=jax.random.key(3))


class _Answer(NamedTuple):
    """What a model says of all systems, and how right it is."""

    prediction: Prediction
    truth: np.ndarray
    parts: dict[str, np.ndarray]
    """Which times are spoken of together."""

    def numbers(self) -> dict[str, dict[str, float]]:
        """The median error of a system, and how often 90% intervals hold the truth."""
        errors = (np.asarray(self.prediction.mean) - self.truth) ** 2
        lower, upper = self.prediction.interval(coverage=0.9)
        held = (lower <= self.truth) & (self.truth <= upper)
        return {
            name: {
                "error": round(float(np.median(np.sqrt(errors[:, part].mean(axis=(1, 2))))), 3),
                "coverage": round(float(held[:, part].mean()), 2),
            }
            for name, part in self.parts.items()
        }

    def panel(self, system: int, ts: np.ndarray, contexts: Observations, colour: str, **other):
        lower, upper = self.prediction.interval(coverage=0.9)
        mask = np.asarray(contexts.mask)[system]
        seen = np.stack([HORIZON * contexts.ts[system], contexts.ys[system, :, 0]])[:, mask]
        columns = (self.prediction.mean, lower, upper)
        mean, lower, upper = (np.asarray(part)[system, :, 0] for part in columns)
        truth = self.truth[system, :, 0]
        return Panel(
            colour, HORIZON * ts, truth, mean, lower, upper, seen, note=self.note(), **other
        )

    def note(self) -> str:
        found = self.numbers()
        errors = ", ".join(f"{one['error']:.2g} {name}" for name, one in found.items())
        held = ", ".join(f"{one['coverage']:.0%}" for one in found.values())
        return f"typical error {errors}\n90% interval holds {held}"


def _later(data: RunData, process: AbstractPredictor, colours: tuple[str, str, str]):
    """From points of the first part of its time, how a system goes on."""
    tasks = task_data(LATER, NUM_SYSTEMS, num_times=201, until=1.5 * HORIZON)
    seen, ts = tasks.observations, tasks.observations.ts[0]
    rng = np.random.default_rng(0)
    possible = np.flatnonzero(ts <= LAST_SEEN)
    chosen = [rng.choice(possible, NUM_SEEN, replace=False) for _ in range(NUM_SYSTEMS)]
    contexts = _points(seen, np.array(chosen))
    parts = {
        f"from {HORIZON * LAST_SEEN:g} to {HORIZON:g}": (ts > LAST_SEEN) & (ts <= 1),
        "beyond": ts > 1,
    }
    rival = RIVALS[NEURAL_ODES[LATER]]
    neural_ode = rival.learn(data.training, None, jax.random.key(2))
    models = (neural_ode, process, trained_process(LATER, "nopi"))
    answers = [_Answer(_ask(model, contexts, ts), seen.ys, parts) for model in models]
    system = _median_system(answers[-1], parts["beyond"])
    panels = [
        answer.panel(system, ts, contexts, colour)
        for answer, colour in zip(answers, colours, strict=True)
    ]
    return Row("How it goes on", "prey u", panels, HORIZON), [a.numbers() for a in answers]


def _other(data: RunData, process: AbstractPredictor, colours: tuple[str, str, str]):
    """From a few points of another system, all of it."""
    tasks = task_data(OTHER, NUM_SYSTEMS, num_times=101)
    seen, ts = tasks.observations, tasks.observations.ts[0]
    rng = np.random.default_rng(1)
    chosen = [rng.choice(len(ts), FEW, replace=False) for _ in range(NUM_SYSTEMS)]
    contexts = _points(seen, np.array(chosen))
    parts = {f"from {FEW} points": np.ones(len(ts), bool)}
    # What it was fitted to stays what it says: a system at the lower quartile, of all its points.
    training = data.training
    assert isinstance(training, Task)
    one = _at_quantile(training.privileged[:, 0], 0.25)
    learnt = jax.tree.map(lambda leaf: np.asarray(leaf)[one : one + 1], training.observations)
    neural_ode = RIVALS[NEURAL_ODES[OTHER]].learn(training, None, jax.random.key(2))
    fitted = _ask(neural_ode, learnt, ts)
    means, scales = (
        np.broadcast_to(part, (NUM_SYSTEMS, *part.shape[1:]))
        for part in (fitted.means, fitted.scales)
    )
    keys = jax.random.split(fitted.key[0], NUM_SYSTEMS)
    same = Prediction(np.broadcast_to(ts, (NUM_SYSTEMS, len(ts))), means, scales, keys)
    others = [_ask(model, contexts, ts) for model in (process, trained_process(OTHER, "nopi"))]
    answers = [_Answer(prediction, seen.ys, parts) for prediction in (same, *others)]
    system = _at_quantile(tasks.privileged[:, 0], 0.75)
    points = np.stack([HORIZON * learnt.ts[0], learnt.ys[0, :, 0]])
    panels = [
        answer.panel(system, ts, contexts, colour, learnt=points if answer is answers[0] else None)
        for answer, colour in zip(answers, colours, strict=True)
    ]
    return Row("Another system", "x₁", panels, HORIZON), [a.numbers() for a in answers]


def _points(seen: Observations, chosen: np.ndarray) -> Observations:
    systems = np.arange(len(chosen))[:, None]
    return Observations(seen.ts[systems, chosen], seen.ys[systems, chosen])


def _median_system(answer: _Answer, part: np.ndarray) -> int:
    """Neither the best case nor the worst."""
    errors = ((np.asarray(answer.prediction.mean) - answer.truth) ** 2)[:, part].mean(axis=(1, 2))
    return int(np.argsort(errors)[len(errors) // 2])


def _at_quantile(values: np.ndarray, level: float) -> int:
    return int(np.argsort(values)[int(level * len(values))])


def _colours(process: str) -> tuple[str, str, str]:
    return RIVALS["neural-ode"].colour, MODELS[process].colour, MODELS["nopi"].colour


if __name__ == "__main__":
    measure_figure_1(*sys.argv[1:])
