"""How long a user waits: for a prediction, for the command line, for the first step of training."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import pandas as pd

from benchmarks.common import (
    HERE,
    USERS_ENVIRONMENT,
    seconds_of,
    summary,
    task_data,
    trained_process,
)
from lupi import Forecaster, get_experiment
from lupi._machinery.environment import worker_environment
from lupi.cli import COMMANDS, app
from lupi.data import draw_context
from lupi.data.generation import simulate_table
from lupi.prediction import predict

NUM_SERIES, NUM_OBSERVATIONS, NUM_TIMES = 2_000, 8, 100
LEVELS = (0.05, 0.25, 0.75, 0.95)
CHICKS = HERE / "data" / "chick-weight.csv"

FIRST_STEPS = """
import time; started = {started}
import jax
from lupi.experiments import get_experiment, paper_settings
from lupi.experiments.systems import make_data
from lupi.models import build_process
from lupi.registry import get_model
from lupi.training import fit, loop
settings = paper_settings().experiments["stiffness"]
data = make_data(get_experiment("stiffness"), settings, key=jax.random.key(0))
class Done(Exception): pass
def stop(*arguments): raise Done
loop.validate = stop  # what follows the first epoch's steps
process = build_process(get_model("lupi").process, observation_size=2, privileged_size=1,
                        key=jax.random.key(0))
try:
    fit(process, data.training, data.validation, settings=settings.training,
        key=jax.random.key(0))
except Done:
    print(time.time() - started)
"""

MANY_SERIES = """
import json, resource, sys, time
import numpy as np
import lupi
forecaster, observations = lupi.load(sys.argv[1]), sys.argv[2]
number, times = int(sys.argv[3]), np.linspace(0.0, 10.0, int(sys.argv[4]))
observations = lupi.read_series(
    observations, series="series", time="t", observed=forecaster.columns.observed, training=False
)
assert len(observations) == number
seconds = []
for _ in range(4):
    started = time.perf_counter()
    forecaster.predict(observations, times)
    seconds.append(time.perf_counter() - started)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"first": seconds[0], "warm": min(seconds[1:]), "megabytes": memory}))
"""

ASKING = """
import json, sys, time
import numpy as np
import lupi
forecaster = lupi.load(sys.argv[1])
names = forecaster.columns
series = lupi.read_series(
    sys.argv[2], series=names.series, time=names.time, observed=names.observed, training=False
)
rows, times = series.to_dataframe(), np.linspace(0.0, float(sys.argv[4]), int(sys.argv[3]))
new = [run.drop(columns=names.series) for _, run in rows.groupby(names.series)][:60]
def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
one = [seconds(lambda: forecaster.predict(run, times)) for run in new]
many = [seconds(lambda: forecaster.predict(series, times)) for _ in range(4)]
print(json.dumps({"first": one[0], "one": one[10:], "many": [s / len(series) for s in many[1:]]}))
"""

DEFAULT_STEPS = """
import sys, time
import lupi
if sys.argv[2] == "with":
    lupi.compile_small_loops()
import numpy as np
series = lupi.read_series(sys.argv[1], series="series", time="t", observed=["x1", "x2"],
                          privileged="k")
forecaster = lupi.Forecaster(
    train={"epochs": 20, "validations": 1}, inference="amortised", members=1, blend=False,
    process={"hidden_size": 32, "representation_size": 32},
)
ends = []
forecaster.fit(series, on_epoch=lambda _: ends.append(time.perf_counter()), progress=False)
settings = forecaster.settings
steps = (len(series) - settings.num_left_out(len(series))) // settings.train.batch_size
# Neither the first epoch, which compiles, nor the last, which validates.
print(1e3 * float(np.median(np.diff(ends)[:-1])) / steps)
"""


def measure_latency() -> dict:
    """What a user waits for; asked is what the project has set itself."""
    parts = {
        "predict_ms": _predict_ms,
        "quantiles_ms": _quantiles_ms,
        "help_s": _help,
        "completion_s": _completion,
        "first_steps_s": _first_steps,
        "many_series_s": _many_series,
        "asking_ms": _asking,
        "small_table": _small_table,
        "default_step_ms": _default_step,
    }
    result = {}
    for name, measure in parts.items():
        result[name] = measure()
        print(f"  {name}: {result[name]}", flush=True)
    return result


def _prediction_of_springs(key):
    """9 context points, 64 samples, 100 times; one thread, a second one gains nothing."""
    process = trained_process("stiffness", "lupi")
    observations = task_data("stiffness", 1)[0].observations
    context = draw_context(observations, sizes=(9, 9), key=jax.random.key(0))
    times = np.linspace(0, 1, NUM_TIMES)
    return lambda: predict(process, context, times, num_samples=64, key=key())


def _predict_ms() -> dict[str, float]:
    """Of a warm `predict`."""
    keys = iter(jax.random.split(jax.random.key(0), 60))
    once = _prediction_of_springs(lambda: next(keys))
    measured = [seconds_of(once) for _ in range(60)]
    return summary(1e3 * np.array(measured[10:]))


def _quantiles_ms() -> dict[str, float]:
    """Of four levels of a prediction, warm; asked: at most 5."""
    prediction = _prediction_of_springs(lambda: jax.random.key(0))()
    assert prediction.means.shape == (64, NUM_TIMES, 2)
    measured = [seconds_of(lambda: prediction.quantile(LEVELS)) for _ in range(60)]
    return summary(1e3 * np.array(measured[10:]))


def _help() -> dict:
    """Of `lupi --help` and of the help of every command; asked: below 0.5 s, the slowest too."""
    lines = {" ".join(["lupi", *command]): command for command in ([], *([c] for c in COMMANDS))}
    times: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(7):  # in turns
        for name, command in lines.items():
            times[name].append(_seconds([sys.executable, "-m", "lupi", *command, "--help"]))
    found = {name: summary(values) for name, values in times.items()}
    return {"slowest": max(found, key=lambda name: found[name]["median"])} | found


def _seconds(command: list[str]) -> float:
    return seconds_of(
        lambda: subprocess.run(command, env=USERS_ENVIRONMENT, check=True, capture_output=True)
    )


def _completion() -> dict[str, float]:
    """A new bash that loads the completion and completes `lupi reproduce --qu`."""
    script = app.generate_completion(shell="bash")
    words = "COMP_WORDS=(lupi reproduce --qu); COMP_CWORD=2; _lupi; [ $COMPREPLY = --quick ]"
    return summary([_seconds(["bash", "-c", f"{script}\n{words}"]) for _ in range(7)])


def _first_steps() -> dict[str, dict[str, float]]:
    """From nothing to the first steps of training, cold and from the persistent cache, in seconds.

    It ends when the 400 steps of the first epoch, one compiled call of about 0.1 s, are done.
    """
    times: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            environment = worker_environment({"JAX_COMPILATION_CACHE_DIR": folder})
            for found in times.values():
                script = FIRST_STEPS.format(started=time.time())
                found.append(float(_output(script, environment=environment | {"PATH": "/bin"})))
    return {kind: summary(values) for kind, values in times.items()}


def _output(script: str, *arguments: str, environment: dict[str, str]) -> str:
    """The last line that a program prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.splitlines()[-1]


def _many_series() -> dict[str, float]:
    """2,000 series of 8 observations in one call of `Forecaster.predict`, at 100 times each.

    Seconds of the first call, which compiles, and of later ones; peak megabytes of the process,
    which loads a forecaster and does nothing else. The forecasts alone are 205 MB.
    """
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder) / "model.lupi", Path(folder) / "new.parquet"
        forecaster = Forecaster(
            train={"epochs": 2},
            inference="amortised",
            members=1,
            blend=False,
            process={"hidden_size": 32, "representation_size": 32},
        )
        forecaster.fit(_springs(100, 51, seed=0), progress=False).save(model)
        new = _springs(NUM_SERIES, NUM_OBSERVATIONS, seed=1).to_dataframe()
        new.drop(columns="k").to_parquet(table)
        sizes = (str(NUM_SERIES), str(NUM_TIMES))
        output = _output(MANY_SERIES, str(model), str(table), *sizes, environment=USERS_ENVIRONMENT)
        return json.loads(output)


def _asking() -> dict:
    """Milliseconds of a forecast with the default preset, whole: its inference asks the decoder.

    `Forecaster.predict`, warm, of one series of 9 observations at 100 times (asked: 20), and of
    each of 500 in one call (asked: 5), in an environment like that of any program; seconds of the
    first call, which compiles, and of training.
    """
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder) / "model.lupi", Path(folder) / "new.parquet"
        forecaster = Forecaster().fit(_springs(400, 51, seed=0), progress=False)
        forecaster.save(model)
        _springs(500, 9, seed=1).to_dataframe().drop(columns="k").to_parquet(table)
        arguments = (str(model), str(table), str(NUM_TIMES), "10")
        found = json.loads(_output(ASKING, *arguments, environment=USERS_ENVIRONMENT))
        return {
            "one": summary(1e3 * np.array(found["one"])),
            "each_of_500": summary(1e3 * np.array(found["many"])),
            "first_s": found["first"],
            "training_s": forecaster.provenance["seconds"],
        }


def _small_table() -> dict:
    """The same of 50 chicks with 12 weighings, and of 2,000 chicks that were weighed four times.

    Seconds of `lupi train`, the whole command (asked: 60); milliseconds of one forecast (asked:
    50), seconds of 2,000 in one call (asked: 20).
    """
    columns = ["--series", "chick", "--time", "day", "--observed", "weight"]
    with tempfile.TemporaryDirectory() as folder:
        model, new = str(Path(folder) / "model.lupi"), str(Path(folder) / "new.csv")
        train = [sys.executable, "-m", "lupi", "train", str(CHICKS), *columns, "--out", model]
        training = _seconds(train)
        chicks = pd.read_csv(CHICKS)[["chick", "day", "weight"]]
        first = [chick.iloc[:4] for _, chick in chicks.groupby("chick")]
        several = (first[i % len(first)].assign(chick=i) for i in range(NUM_SERIES))
        pd.concat(several).to_csv(new, index=False)
        output = _output(ASKING, model, new, str(NUM_TIMES), "21", environment=USERS_ENVIRONMENT)
        found = json.loads(output)
    return {
        "training_s": training,
        "one_ms": summary(1e3 * np.array(found["one"])),
        "all_s": summary(NUM_SERIES * np.array(found["many"])),
    }


def _default_step() -> dict:
    """Milliseconds of a step of the default preset, with and without `compile_small_loops`.

    Batches of 8 and a width of 32, in an environment like that of any program that calls the
    library, in turns. The ratio says how much longer it takes without.
    """
    times: dict[str, list[float]] = {"with": [], "without": []}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "runs.parquet"
        _springs(800, 51, seed=0).to_dataframe().to_parquet(table)
        for _ in range(3):
            for kind, found in times.items():
                output = _output(DEFAULT_STEPS, str(table), kind, environment=USERS_ENVIRONMENT)
                found.append(float(output))
    ratios = np.array(times["without"]) / np.array(times["with"])
    return {kind: summary(found) for kind, found in times.items()} | {"ratio": summary(ratios)}


def _springs(num_series: int, num_points: int, *, seed: int):
    """A table of springs of unknown stiffness."""
    springs = get_experiment("stiffness").source
    return simulate_table(
        springs.system,
        num_series,
        horizon=springs.horizon,
        num_points=num_points,
        noise=0.05,
        key=jax.random.key(seed),
    )
