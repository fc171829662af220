"""Training that is killed at random moments ends where it would have ended."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

TRAIN = """
import sys
import numpy as np, pandas as pd, lupi
from lupi.forecasting import networks
folder, epochs, model = sys.argv[1], int(sys.argv[2]), sys.argv[3]
networks.SECONDS_BETWEEN_CHECKPOINTS = 0.0
settings = lupi.forecaster_settings(
    model=model,
    members=1,
    blend=False,
    process={"hidden_size": 8, "representation_size": 8},
    train={"epochs": epochs, "batch_size": 4, "context_sizes": (2, 5)},
    inference="amortised",  # as it is training that is killed
)
runs = pd.read_csv("runs.csv")
series = lupi.read_series(runs, series="run", time="t", observed=["x", "y"], privileged=["k"])
model = lupi.Forecaster(settings).fit(
    series, checkpoint=f"{folder}/checkpoint", on_epoch=lambda row: print(row["epoch"], flush=True)
)
np.save(f"{folder}/samples.npy", model.predict(runs.iloc[:5], [1.0, 2.0]).samples)
"""


def start(folder, epochs: int, model: str, cache) -> subprocess.Popen:
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    return subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(folder), str(epochs), model],
        cwd=folder.parent,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def make_runs() -> pd.DataFrame:
    """Twelve oscillations of different frequency."""
    rng = np.random.default_rng(0)
    k, t = np.repeat(rng.uniform(1, 3, 12), 10), np.tile(np.linspace(0, 5, 10), 12)
    columns = {"run": np.repeat(np.arange(12), 10), "t": t, "k": k}
    return pd.DataFrame(columns | {"x": np.sin(k * t), "y": 100 * np.cos(k * t)})


def survive(tmp_path, *, kills: int, epochs: int, model: str) -> int:
    """Kill a training again and again; how many times it was caught in the middle."""
    make_runs().to_csv(tmp_path / "runs.csv", index=False)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    first = start(whole, epochs, model, tmp_path / "cache")
    first.communicate(timeout=300)
    assert first.returncode == 0
    rng, caught = np.random.default_rng(0), 0
    for _ in range(kills):
        process = start(killed, epochs, model, tmp_path / "cache")
        assert process.stdout is not None
        process.stdout.readline()  # the first epoch of this process is done
        time.sleep(rng.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        caught += process.wait(timeout=60) == -signal.SIGKILL
        process.stdout.close()
    last = start(killed, epochs, model, tmp_path / "cache")
    last.communicate(timeout=300)
    assert last.returncode == 0
    np.testing.assert_array_equal(np.load(killed / "samples.npy"), np.load(whole / "samples.npy"))
    assert sorted(entry.name for entry in killed.iterdir()) == ["checkpoint", "samples.npy"]
    return caught


def test_training_survives_being_killed_twice(tmp_path):
    assert survive(tmp_path, kills=2, epochs=500, model="cnp") == 2  # compiled soon


@pytest.mark.slow
def test_training_survives_being_killed_twenty_times(tmp_path):
    assert survive(tmp_path, kills=20, epochs=1500, model="lupi") == 20
