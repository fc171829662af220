"""How long a large table takes to be read, checked and normalised, and how much memory."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

NUM_SERIES, NUM_POINTS = 100_000, 50
TABLES = {
    "Parquet": {"suffix": ".parquet", "shuffle": False},
    "Parquet, rows in random order": {"suffix": ".parquet", "shuffle": True},
    "CSV": {"suffix": ".csv", "shuffle": False},
}


def measure_reading() -> dict[str, dict[str, float]]:
    """Seconds and peak megabytes for five million rows, each in a process of its own."""
    results = {}
    for name, table in TABLES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"runs{table['suffix']}"
            write_table(path, NUM_SERIES, NUM_POINTS, shuffle=table["shuffle"])
            command = [sys.executable, "-m", "benchmarks.reading", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        results[name] = json.loads(done.stdout)
        print(f"  {name}: {results[name]}", flush=True)
    return results


def write_table(path: Path, num_series: int, num_points: int, *, shuffle: bool) -> None:
    """Series at uneven times, two observed columns with a few gaps, one privileged column."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    generator = np.random.default_rng(0)
    run = np.repeat(np.arange(num_series), num_points)
    times = np.sort(generator.uniform(0, 10, (num_series, num_points))).ravel()
    values = generator.normal(size=(2, run.size))
    values[0, generator.random(run.size) < 0.05] = np.nan
    stiffness = generator.uniform(size=num_series)[run]
    columns = {"run": run, "t": times, "x1": values[0], "x2": values[1], "k": stiffness}
    if shuffle:
        order = generator.permutation(run.size)
        columns = {name: column[order] for name, column in columns.items()}
    table = pa.table(columns)
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path)


def _measure(path: str) -> dict[str, float]:
    started = time.perf_counter()
    from lupi.data.normalisation import Normalisation, to_tasks
    from lupi.data.reading import read_series

    imported = time.perf_counter()
    table = read_series(path, series="run", time="t", observed=["x1", "x2"], privileged=["k"])
    read = time.perf_counter()
    tasks = to_tasks(table, Normalisation.of(table))
    assert len(tasks) == NUM_SERIES
    return {
        "import_s": imported - started,
        "read_and_check_s": read - imported,
        "normalise_s": time.perf_counter() - read,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1])))
