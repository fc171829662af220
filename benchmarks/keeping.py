"""Does `keep_best` choose better weights than the last ones? Over several seeds."""

import jax
import numpy as np

from lupi import Forecaster, evaluate
from lupi.data.generation import simulate_table
from lupi.experiments import EXPERIMENTS

SEEDS = 6
SIZES = (30, 100)
"""Series to train on, of which a tenth is held out: the fewer, the easier to choose wrongly."""

SMALLER = {"hidden_size": 32, "representation_size": 32}
"""Networks that train in a minute."""

CHOICES = {"the last": {"keep_best": False}, "the best": {"keep_best": True}}
"""Changes of the default preset's training; the weights that training passes through are the same
in both."""


def measure_keeping() -> list[dict]:
    """CRPS on 200 new series, in standard deviations of the data, and how often a choice is worse
    than the last weights; mean and standard error over seeds."""
    rows = []
    for size in SIZES:
        scores = {name: [] for name in CHOICES}
        for seed in range(SEEDS):
            tables = [
                simulate_table(
                    EXPERIMENTS["stiffness"].source.system,
                    number,
                    horizon=10.0,
                    num_points=20,
                    noise=0.1,
                    irregular=True,
                    key=jax.random.key(100 * seed + part),
                )
                for part, number in enumerate((size, 200))
            ]
            for name, changes in CHOICES.items():
                forecaster = Forecaster(process=SMALLER, inference="amortised", train=changes).fit(
                    tables[0], seed=seed, progress=False
                )
                found = evaluate(forecaster, tables[1], seed=seed).metrics
                scale = forecaster.normalisation.observed_scale
                crps = [m["crps"].mean / s for m, s in zip(found.values(), scale, strict=True)]
                scores[name].append(float(np.mean(crps)))
        last = np.array(scores["the last"])
        for name, values in scores.items():
            gain = (last - np.array(values)) / last
            rows.append(
                {
                    "series": size,
                    "weights": name,
                    "crps": float(np.mean(values)),
                    "gain": float(gain.mean()),
                    "gain_stderr": float(gain.std(ddof=1) / np.sqrt(SEEDS)),
                    "worse_than_last": int((gain < 0).sum()),
                    "seeds": SEEDS,
                }
            )
            print(f"  {rows[-1]}", flush=True)
    return rows
