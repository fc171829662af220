"""What inference in the model's own simulator finds: forecasts, values, strangers, times to look.

On the models that `lupi reproduce --preset best --seeds 5` left in a folder (`BEST`, in the
environment, or `reproduction-best`), and with `--noise 0.1` in another where there is one (`NOISY`,
or `reproduction-best-noise-0.1`); what is known of their families is learnt again. On all cores.
"""

import os
from pathlib import Path

import jax
import numpy as np
from loky import cpu_count, get_reusable_executor

import benchmarks.common  # noqa: F401  one thread
from lupi._machinery.environment import worker_environment
from lupi._machinery.module_arrays import arrays_of
from lupi.data import Observations, Task, generate_tasks
from lupi.distributions import NormalMixture, Uniform
from lupi.evaluation import draw_contexts, judge_recovered, score
from lupi.experiments import EXPERIMENTS, Simulation, best_settings
from lupi.experiments.results import RunFolder
from lupi.experiments.systems import make_data
from lupi.forecasting.forecast import information_gain
from lupi.ideal import IdealObserver
from lupi.inference import Amortised, InferringPredictor
from lupi.inference.surprise import STRANGE
from lupi.models import load_process
from lupi.prediction import predict_many
from lupi.preparation import prepare
from lupi.systems import DampedOscillators, LotkaVolterra, System

FOLDERS = {
    0.0: Path(os.environ.get("BEST", "reproduction-best")),
    0.1: Path(os.environ.get("NOISY", "reproduction-best-noise-0.1")),
}
"""Of the models, by the noise that they were trained with."""
SIZES = tuple(range(1, 21))
JUDGED = (
    *("mse", "crps", "coverage_90", "coverage_50", "calibration_error"),
    *("recovered_error", "recovered_coverage_90"),
)
NUM_SYSTEMS, NUM_TIMES, NUM_SAMPLES, SEEDS = 200, 100, 64, 5
KEY = jax.random.key(7)


def measure_finding() -> list[dict]:
    """For each experiment and seed of the LUPI model."""
    executor = get_reusable_executor(max_workers=cpu_count(), env=worker_environment())
    pairs = [(experiment, seed) for experiment in EXPERIMENTS for seed in range(SEEDS)]
    rows = []
    for row in executor.map(find, *zip(*pairs, strict=True)):
        rows.append(row)
        print(f"  {row}", flush=True)
    return rows


def find(experiment: str, seed: int) -> dict:
    """What the model of one seed finds."""
    predictor, data = predictor_and_data(experiment, seed)
    test = data.test[:NUM_SYSTEMS]
    row = {
        "experiment": experiment,
        "seed": seed,
        "active": int(predictor.family.members.shape[1]),
        "trust": {
            name: np.asarray(values).tolist()
            for name, values in arrays_of(predictor.family.trust, "").items()
        },
        "judged": _judged(predictor, data.test, seed),
        "by_size": _by_size(predictor, test),
        "value": _value(predictor, experiment, test),
        "caught": _caught(predictor, experiment, test),
        "looking": _looking(predictor, test, test.observations.ys),
    }
    if FOLDERS[0.1].exists():
        predictor, data = predictor_and_data(experiment, seed, noise=0.1)
        noisy = data.test[:NUM_SYSTEMS]
        row["judged_with_noise"] = _judged(predictor, data.test, seed)
        row["looking_with_noise"] = _looking(predictor, noisy, test.observations.ys)
    return row


def predictor_and_data(experiment: str, seed: int, noise: float = 0.0):
    """The LUPI model of a seed with its inference, and the systems of its run: the same ones with
    noise and without."""
    settings = best_settings(noise=noise)
    run, model = settings.experiments[experiment], settings.models["lupi"]
    keys = jax.random.split(jax.random.key(seed), 5)  # as in a run
    data = make_data(EXPERIMENTS[experiment], run, key=keys[0])
    process = load_process(RunFolder(FOLDERS[noise], experiment, "lupi", seed).model_file)
    family = prepare(process, model.inference, data.training, data.validation, key=keys[4])
    return InferringPredictor(process, model.inference, family), data


def _judged(predictor, test: Task, seed: int) -> dict[str, float]:
    """As `lupi reproduce` judges it: all test systems, from the contexts of its seed."""
    settings = best_settings().experiments["stiffness"].evaluation  # the same for all
    _, contexts_key, _, _, key = jax.random.split(jax.random.key(seed), 5)
    seen = test.observations
    contexts = draw_contexts(seen, settings.context_sizes, key=contexts_key)
    prediction = predict_many(
        predictor, contexts, seen.ts, num_samples=settings.num_samples, keys=key
    )
    found = score(prediction, seen.ys).overall() | judge_recovered(prediction.findings, test)
    return {name: found[name].mean for name in JUDGED}


def _contexts(test: Task, size: int, seed: int = 0) -> Observations:
    """So many random points of each system, and no more."""
    rng = np.random.default_rng([size, seed])
    seen = test.observations
    chosen = np.stack([rng.permutation(seen.ts.shape[1])[:size] for _ in range(len(test))])
    return _taken(seen, chosen)


def _taken(seen: Observations, chosen: np.ndarray, room: int = 20) -> Observations:
    rows = np.arange(len(chosen))[:, None]
    empty = np.zeros((len(chosen), room - chosen.shape[1]), int)
    padded = np.concatenate([chosen, empty], axis=1)
    mask = np.broadcast_to(np.arange(room) < chosen.shape[1], padded.shape)
    return Observations(seen.ts[rows, padded], seen.ys[rows, padded], np.array(mask))


def _predict(predictor, contexts: Observations, ts):
    keys = jax.random.split(KEY, len(contexts.ts))
    return predict_many(predictor, contexts, ts, num_samples=NUM_SAMPLES, keys=keys)


def _by_size(predictor, test: Task) -> list[dict]:
    """Error and coverage for each number of points seen, in each third of the horizon; and the
    error of the encoder alone."""
    alone = InferringPredictor(predictor.process, Amortised())
    seen, found = test.observations, []
    for size in SIZES:
        contexts = _contexts(test, size)
        prediction = _predict(predictor, contexts, seen.ts)
        overall = score(prediction, seen.ys).overall()
        below = np.asarray(prediction.probability_below(seen.ys))
        inside = np.abs(below - 0.5) <= 0.45
        thirds = [float(part.mean()) for part in np.array_split(inside, 3, axis=1)]
        encoder = _predict(alone, contexts, seen.ts)
        found.append(
            {
                "size": size,
                "mse": overall["mse"].mean,
                "mse_stderr": overall["mse"].stderr,
                "coverage_90": overall["coverage_90"].mean,
                "coverage_50": overall["coverage_50"].mean,
                "calibration_error": overall["calibration_error"].mean,
                "coverage_90_of_thirds": thirds,
                "effective_share": float(np.mean(prediction.findings.effective_share)),
                "encoder_mse": float(np.mean((encoder.mean - seen.ys) ** 2)),
            }
        )
    return found


def _value(predictor, experiment: str, test: Task) -> dict:
    """The privileged value from nine points; and what the ideal observer makes of it."""
    contexts, truth = _contexts(test, 9), test.privileged[:, 0]
    value = _predict(predictor, contexts, test.observations.ts[:, :2]).findings.privileged
    # Samples are the second axis of findings, and the first of a mixture.
    mixture = NormalMixture(*(np.moveaxis(np.asarray(p), 1, 0) for p in (value.loc, value.scale)))
    lower, upper = mixture.interval(coverage=0.9)
    loc, scale = mixture.means[..., 0].T, mixture.scales[..., 0].T
    rng = np.random.default_rng(0)
    ranks = (loc + scale * rng.standard_normal(loc.shape) < truth[:, None]).mean(axis=1)
    source = EXPERIMENTS[experiment].source
    assert isinstance(source, Simulation)
    ideal = IdealObserver.of(source.system, horizon=source.horizon, noise=0.0, key=KEY)
    means = [
        float(ideal.privileged(_one_of(contexts, i), num_samples=64, key=KEY)[..., 0].mean())
        for i in range(len(test))
    ]
    return {
        "r2": _r2(loc.mean(axis=1), truth),
        "r2_of_the_ideal_observer": _r2(np.array(means), truth),
        # Not of the ranks: among 64 draws they are inside too rarely by two in a hundred.
        "coverage_90": float(((lower[:, 0] <= truth) & (truth <= upper[:, 0])).mean()),
        "ranks_in_fifths": np.histogram(ranks, 5, (0, 1.0001))[0].tolist(),
    }


def _r2(found: np.ndarray, truth: np.ndarray) -> float:
    return float(1 - np.mean((found - truth) ** 2) / truth.var())


def _one_of(tree, i: int):
    return jax.tree.map(lambda leaf: leaf[i], tree)


def _strangers(experiment: str) -> dict[str, System]:
    if experiment == "stiffness":
        return {
            "k from 1.2 to 1.6": DampedOscillators(k=Uniform(1.2, 1.6), c=1.0),
            "unequal masses": DampedOscillators(k=Uniform(0.2, 1.0), c=1.0, m1=2.0),
        }
    if experiment == "damping":
        return {
            "c from 2.5 to 3.5": DampedOscillators(k=0.5, c=Uniform(2.5, 3.5)),
            "unequal masses": DampedOscillators(k=0.5, c=Uniform(0.5, 2.0), m1=2.0),
        }
    start = {"u0": Uniform(0.2, 1.0), "v0": Uniform(0.1, 0.5)}
    return {
        "u0, v0 from 1.5 to 2": LotkaVolterra(u0=Uniform(1.5, 2.0), v0=Uniform(1.5, 2.0)),
        "predators that starve faster": LotkaVolterra(gamma=1.5, **start),
    }


def _caught(predictor, experiment: str, test: Task) -> dict[str, float]:
    """The share of systems with a surprise below 1 %, from seven points."""
    source = EXPERIMENTS[experiment].source
    assert isinstance(source, Simulation)
    times = np.linspace(0.0, source.horizon, NUM_TIMES)

    def share(seen: Observations) -> float:
        contexts = _contexts(Task(seen, np.zeros((len(seen.ts), 0), np.float32)), 7)
        found = _predict(predictor, contexts, seen.ts[:, :2]).findings
        return float((np.asarray(found.surprise) < STRANGE).mean())

    seen = test.observations
    frozen = np.array(seen.ys)
    frozen[:, NUM_TIMES // 4 :, 1] = frozen[:, NUM_TIMES // 4, 1][:, None]
    caught = {"none: false alarms": share(seen)}
    for name, system in _strangers(experiment).items():
        tasks = generate_tasks(system, times, NUM_SYSTEMS, time_unit=source.horizon, key=KEY)
        caught[name] = share(tasks.observations)
    caught["one column in another unit (x 1.5)"] = share(
        Observations(seen.ts, seen.ys * np.array([1.0, 1.5], np.float32))
    )
    caught["a sensor that stops after a quarter"] = share(Observations(seen.ts, frozen))
    return caught


def _looking(predictor, test: Task, truth) -> dict[str, list[float]]:
    """The error, of what is true, after each of four observations: where they tell most, the first
    of them before anything is known; at random; and evenly spread."""
    seen = test.observations
    rng = np.random.default_rng(0)
    number, length = seen.ts.shape
    best = np.zeros((number, 0), int)
    random = np.argsort(rng.random((number, length)), axis=1)
    errors: dict[str, list[float]] = {"best": [], "random": [], "even": []}
    for step in range(1, 5):
        prediction = _predict(predictor, _taken(seen, best), seen.ts)
        mixtures = NormalMixture(prediction.means, prediction.scales)
        gains = [
            information_gain(_one_of(mixtures, i), seen.ts[i], seen.ts[i, best[i]])
            for i in range(number)
        ]
        best = np.concatenate([best, np.argmax(gains, axis=1)[:, None]], axis=1)
        even = np.linspace(0, length - 1, step + 2)[1:-1].round().astype(int)
        ways = {"best": best, "random": random[:, :step], "even": np.tile(even, (number, 1))}
        for name, chosen in ways.items():
            prediction = _predict(predictor, _taken(seen, chosen), seen.ts)
            errors[name].append(float(np.mean((prediction.mean - truth) ** 2)))
    return errors
