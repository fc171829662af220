"""Are the intervals honest on noisy data, and is the default preset better than the paper's?"""

import jax
import numpy as np

import benchmarks.common  # noqa: F401  one thread
from lupi import Forecaster, evaluate, get_experiment
from lupi.data.generation import simulate_table
from lupi.experiments import EXPERIMENTS
from lupi.forecasting import PRESETS

NUM_SERIES, NUM_TEST, SEEDS = 500, 200, 2
NOISES = (0.0, 0.1)


def measure_noise() -> list[dict]:
    """Of both presets, on held-out series: error, CRPS and coverage, mean over seeds and columns.

    Errors are those of noisy observations; a perfect forecast has the noise itself.
    """
    rows = []
    for experiment in EXPERIMENTS:
        for noise in NOISES:
            for preset in PRESETS:
                runs = [_run(experiment, noise, preset, seed) for seed in range(SEEDS)]
                means = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
                spreads = {
                    f"{name}_spread": float(np.ptp([r[name] for r in runs])) for name in means
                }
                about = {"experiment": experiment, "noise": noise, "preset": preset}
                rows.append(about | means | spreads)
                values = ", ".join(f"{name} {value:.3g}" for name, value in means.items())
                print(f"  {experiment}, noise {noise}, {preset}: {values}", flush=True)
    return rows


def _run(name: str, noise: float, preset: str, seed: int) -> dict[str, float]:
    source = get_experiment(name).source
    tables = [
        simulate_table(
            source.system,
            number,
            horizon=source.horizon,
            num_points=51,
            noise=noise,
            irregular=True,
            key=jax.random.key(1000 * seed + part),
        )
        for part, number in enumerate((NUM_SERIES, NUM_TEST))
    ]
    forecaster = Forecaster(preset).fit(tables[0], seed=seed, progress=False)
    metrics = list(evaluate(forecaster, tables[1], seed=seed).metrics.values())
    scale = np.array(forecaster.normalisation.observed_scale)

    def mean(name: str, unit=1.0) -> float:
        return float(np.mean([m[name].mean for m in metrics] / np.asarray(unit)))

    return {
        "rmse": mean("rmse", scale),
        "crps": mean("crps", scale),
        "coverage_90": mean("coverage_90"),
        "coverage_50": mean("coverage_50"),
        "seconds": forecaster.provenance["seconds"],
    }
