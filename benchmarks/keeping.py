"""Does `keep_best` choose worse weights than the last ones? Over several seeds."""

from collections import deque

import jax
import numpy as np

import benchmarks.common  # noqa: F401  one thread
from lupi import forecaster_settings, get_experiment
from lupi.data import Observations
from lupi.data.generation import simulate_table
from lupi.data.held_out import hold_out
from lupi.data.normalisation import to_tasks
from lupi.evaluation import draw_contexts, score
from lupi.models import build_process
from lupi.prediction import predict_many
from lupi.training import finish, train_epochs

SEEDS = 6
SIZES = (30, 100)
"""Series to train on, of which a tenth is held out: the fewer, the easier to choose wrongly."""

SETTINGS = forecaster_settings(process={"hidden_size": 32, "representation_size": 32})
"""Of networks that train in a minute."""


def measure_keeping() -> list[dict]:
    """CRPS of the encoder alone on 200 new series, in standard deviations of the data, with the
    weights that `keep_best` keeps and with the last ones of the same training."""
    rows = []
    for size in SIZES:
        pairs = [_crps(size, seed) for seed in range(SEEDS)]
        last, kept = np.array(pairs).T
        gain = (last - kept) / last
        rows.append(
            {
                "series": size,
                "last_crps": last.tolist(),
                "kept_crps": kept.tolist(),
                "kept_the_last": int((gain == 0).sum()),
                "gain": float(gain.mean()),
                "gain_stderr": float(gain.std(ddof=1) / np.sqrt(SEEDS)),
            }
        )
        print(f"  {rows[-1]}", flush=True)
    return rows


def _crps(size: int, seed: int) -> list[float]:
    source = get_experiment("stiffness").source
    tables = [
        simulate_table(
            source.system,
            number,
            horizon=source.horizon,
            num_points=20,
            noise=0.1,
            irregular=True,
            key=jax.random.key(100 * seed + part),
        )
        for part, number in enumerate((size, 200))
    ]
    number = SETTINGS.num_validation(size)
    rng = np.random.default_rng(seed)
    normalisation, training, (validation,), _ = hold_out(tables[0], [number], rng=rng)
    build_key, fit_key = jax.random.split(jax.random.key(seed))
    process = build_process(SETTINGS.process, observation_size=2, privileged_size=1, key=build_key)
    settings = SETTINGS.train.limited_to(len(training))
    states = train_epochs([process], [training], [validation], settings=settings, keys=[fit_key])
    (state,) = deque(states, maxlen=1)
    test = to_tasks(tables[1], normalisation).padded().observations
    test = Observations(np.clip(test.ts, 0, 1), test.ys, test.mask, test.gaps)
    contexts = draw_contexts(test, (5, 9), key=jax.random.key(seed))
    found = []
    for keep_best in (False, True):
        chosen = settings.model_copy(update={"keep_best": keep_best})
        (fitted,) = finish([process], state, chosen)
        prediction = predict_many(
            fitted.process, contexts, test.ts, num_samples=64, keys=jax.random.key(0)
        )
        scores = score(prediction, test.ys, test.known)
        found.append(scores.overall()["crps"].mean)
    return found
