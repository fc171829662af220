"""Make the small models that `lupi serve` shows: `python tools/playground_models.py`.

Of each built-in system one that has learnt from privileged information and one that has not, in
about a minute each. Some names after the command make only those, such as `stiffness-lupi`.
"""

import sys

import lupi

lupi.compile_small_loops()  # before JAX computes anything

import jax
import numpy as np

from lupi.data import SeriesTable
from lupi.data.generation import simulate_table
from lupi.experiments.experiment import Simulation
from lupi.experiments.paper import EXPERIMENTS, PAPER_MODELS
from lupi.inference import family, reader
from lupi.serving.built_in import FOLDER

# What is kept of a family, for files of some tens of kilobytes: a person's clicks tell no more
# apart. And readers of one size: models of the same sizes share what is compiled.
family.MOST_SYSTEMS, family.MEMBERS, family.GRID, reader.NEGLIGIBLE = 192, 32, 32, 3e-4

NUM_SERIES, NUM_POINTS, WIDTH, EPOCHS = 400, 31, 16, 400
NOISE = 0.1
"""In standard deviations of a column: one click does not tell all, and a hand may tremble."""
MISSING = 0.05
"""Share of single values: a model that has seen none cannot know what a gap means."""


def runs(system: str) -> SeriesTable:
    """Runs to learn from, at irregular times and with gaps."""
    source = EXPERIMENTS[system].source
    assert isinstance(source, Simulation)
    table = simulate_table(
        source.system,
        NUM_SERIES,
        horizon=source.horizon,
        num_points=NUM_POINTS,
        noise=NOISE,
        irregular=True,
        key=jax.random.key(0),
    )
    rng = np.random.default_rng(0)
    missing = rng.random(table.values.shape) < MISSING
    table.values[missing & ~missing.all(axis=1, keepdims=True)] = np.nan
    return table


def main(wanted: list[str]) -> None:
    """Train and save them."""
    for system in EXPERIMENTS:
        for model in PAPER_MODELS:
            name = f"{system}-{model}"
            if wanted and name not in wanted:
                continue
            forecaster = lupi.Forecaster(
                model=model,
                members=1,
                blend=False,
                process={"hidden_size": WIDTH, "representation_size": WIDTH},
                train={"epochs": EPOCHS},
            ).fit(runs(system), seed=0)
            path = FOLDER / f"{name}.lupi"
            forecaster.save(path)
            found = forecaster.provenance
            print(name, f"{path.stat().st_size:,} bytes", found["validation"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
