"""Results of the paper's setting with many seeds, kept in the package: what its claims come to."""

import json
from pathlib import Path
from typing import Any

from lupi import __version__
from lupi._machinery.files import write_atomically
from lupi.experiments.results import Floor, Metric, Record, read_results

FILE = Path(__file__).with_name("paper_seeds.json")

METRICS = ("mse", "spread_calibration_error", "spread_std", "crps", "log_likelihood", "coverage_90")
"""What is kept of each run and setting."""

DIGITS = 6


def keep_results(out: Path, command: str, file: Path = FILE) -> None:
    """Write the main numbers of a finished `lupi reproduce` as one small file."""
    results = read_results(out)
    records: dict[str, Any] = {}
    for r in results.records:
        values = [float(f"{r.metrics[name].mean:.{DIGITS}g}") for name in METRICS]
        seeds = records.setdefault(r.experiment, {}).setdefault(r.model, {}).setdefault(r.mode, {})
        seeds[str(r.seed)] = values
    floors: dict[str, Any] = {}
    for floor in results.floors:
        value = float(f"{floor.mse.mean:.{DIGITS}g}")
        floors.setdefault(floor.experiment, {})[str(floor.seed)] = value
    content = {
        "command": command,
        "version": __version__,
        "metrics": METRICS,
        "records": records,
        "floors": floors,
    }
    write_atomically(file, json.dumps(content, separators=(",", ":")) + "\n")


def read_kept(file: Path = FILE) -> tuple[list[Record], list[Floor], str] | None:
    """The records and floors that are kept, if any are, and the command that made them."""
    if not file.exists():
        return None
    content = json.loads(file.read_text())
    records = [
        Record(
            experiment=experiment,
            model=model,
            seed=int(seed),
            mode=mode,
            metrics={
                name: Metric(mean=value, stderr=None)
                for name, value in zip(content["metrics"], values, strict=True)
            },
            seconds={},
        )
        for experiment, models in content["records"].items()
        for model, modes in models.items()
        for mode, seeds in modes.items()
        for seed, values in seeds.items()
    ]
    floors = [
        Floor(experiment=experiment, seed=int(seed), mse=Metric(mean=value, stderr=None))
        for experiment, seeds in content["floors"].items()
        for seed, value in seeds.items()
    ]
    return records, floors, content["command"]
