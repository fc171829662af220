"""Every process, way to use privileged values, objective, aggregator, control and rival, compared.

What `lupi compare` does with all of these names, on the paper's three tasks, clean and noisy, in a
folder from which it goes on when it was stopped. What a contestant comes to on one task is a line
of `everyone.jsonl`, and is not done again: all of them take hours, not necessarily on one day.

`python -m benchmarks.everyone stiffness damping-noisy` does some tasks, `--models nopi,lupi` some
contestants; `python -m benchmarks.everyone_page` writes the page of the docs.
"""

from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.common import HERE, add_lines, read_lines  # and one thread
from lupi.experiments import (
    EXPERIMENTS,
    ReproductionSettings,
    all_contestants,
    comparison_settings,
    reproduce,
)
from lupi.experiments.modes import points_mode
from lupi.experiments.reproduction import Progress
from lupi.experiments.results import Record, finished_folders

FOLDER = Path("comparison-everyone")
LINES = HERE / "everyone.jsonl"
NOISES = {"": 0.0, "-noisy": 0.1}
"""By what the name of a task ends in."""

SEEDS = 6
"""Whole loops of seeds that train together."""
STEPS = 2_000
"""Of each training: a tenth of the preset's, so that 1,400 of them can be done."""
POINTS = (1, 3)
"""Seen, for which everyone is asked beside the 5 to 9 of the paper."""

PROCESSES = ("", "np", "anp", "nd2p", "latent-ode", "latent-cde", "ode2vae")
WAYS = ("concatenation", "head", "distillation", "dropout", "dropping")
OBJECTIVES = ("npml", "importance", "renyi")
AGGREGATORS = ("mean", "logsumexp", "max", "mean-max", "bayesian", "attention")
CONTROLS = ("shuffled", "constant", "noise", "noise=0.5", "noise=1", "noise=2")
RIVALS = ("mean", "last-value", "nearest", "pooled-gp", "gp", "equations", "ideal")
OF_OTHER_AGGREGATES = (
    *(f"lupi:aggregator={aggregator}" for aggregator in ("max", "bayesian")),
    *(f"lupi-{way}:aggregator=max" for way in ("concatenation", "distillation")),
)
"""Do privileged values add to what another aggregator brings?"""
OF_ONE_SERIES = ("neural-ode", "anode", "sonode")

CONTESTANTS = (
    *("nopi", "lupi"),
    *(f"lupi-{way}" for way in WAYS),
    *(f"lupi:{control}" for control in CONTROLS),
    *RIVALS,
    "cnp",
    *(name for process in PROCESSES[1:] for name in (process, f"{process}-lupi")),
    *(f"nopi:aggregator={aggregator}" for aggregator in AGGREGATORS),
    *OF_OTHER_AGGREGATES,
    *(f"{model}-{objective}" for objective in OBJECTIVES for model in ("nopi", "lupi")),
    *OF_ONE_SERIES,
)
"""What tells most of privileged values comes first."""

KEPT = (
    *("crps", "rmse", "mse", "log_likelihood", "coverage_50", "coverage_90", "calibration_error"),
    *("recovered_error", "recovered_coverage_90", "parameters", "training_parameters"),
)


def measure_everyone() -> list[dict]:
    """Every task and contestant that is not done yet; then all of them."""
    for task in tasks():
        run_task(task)
    return rows()


def tasks() -> dict[str, tuple[str, float]]:
    """Every task: its experiment, and its noise."""
    return {name + end: (name, noise) for name in EXPERIMENTS for end, noise in NOISES.items()}


def run_task(task: str, models: Sequence[str] = CONTESTANTS) -> None:
    """Train and judge those of them who are not done yet."""
    name, _ = tasks()[task]
    keep_finished(task)
    waiting = [who for who in models if (task, who) not in done()]
    if not waiting:
        return

    runs_done = 0

    def keep(progress: Progress) -> None:
        nonlocal runs_done
        if progress.runs_done > runs_done:
            runs_done = progress.runs_done
            keep_finished(task)

    results = reproduce(
        settings(task, waiting),
        _folder(task),
        experiments={name: EXPERIMENTS[name]},
        models=waiting,
        seeds=SEEDS,
        keep_going=True,
        on_progress=keep,
    )
    keep_finished(task)
    for failure in results.failures:
        print(f"  {task}: {failure.model}, seed {failure.seed}: {failure.reason}", flush=True)


def settings(task: str, who: Iterable[str]) -> ReproductionSettings:
    """Those of `lupi compare`, asked from fewer numbers of points and not by time ahead."""
    name, noise = tasks()[task]
    experiments = {name: EXPERIMENTS[name]}
    whole = comparison_settings(all_contestants(who), experiments, steps=STEPS, noise=noise)
    run = whole.experiments[name]
    evaluation = run.evaluation.model_copy(update={"points": POINTS, "beyond": ()})
    run = run.model_copy(update={"evaluation": evaluation})
    return whole.model_copy(update={"experiments": {name: run}})


def keep_finished(task: str) -> None:
    """Write down who has finished all seeds of a task."""
    name, _ = tasks()[task]
    for who in CONTESTANTS:
        if (task, who) in done():
            continue
        folders = finished_folders(_folder(task), [name], [who])
        finished = [found for folder in folders if (found := folder.finished()) is not None]
        if len(finished) < SEEDS:
            continue
        line = _line(task, who, [record for run in finished for record in run.records])
        add_lines(LINES, line)
        print(f"  {task}, {who}: {line['test'].get('crps')}", flush=True)


def _line(task: str, who: str, records: list[Record]) -> dict:
    """Every seed's figures, in each mode that is kept, with digits that tell."""
    modes = ["test", *map(points_mode, POINTS)]
    line: dict = {"task": task, "model": who}
    for mode in (mode + end for mode in modes for end in ("", " refined")):
        here = sorted((r for r in records if r.mode == mode), key=lambda r: r.seed)
        if not here:
            continue
        names = KEPT if mode.startswith("test") else ("crps", "coverage_90")
        line[mode] = {
            metric: [float(f"{one.metrics[metric].mean:.5g}") for one in here]
            for metric in names
            if all(metric in one.metrics for one in here)
        }
        line[mode] |= {
            f"seconds.{part}": [float(f"{one.seconds[part]:.3g}") for one in here]
            for part in here[0].seconds
        }
    return line


def rows() -> list[dict]:
    """What has been measured."""
    return read_lines(LINES)


def done() -> set[tuple[str, str]]:
    """Tasks, and who has been measured on them."""
    return {(line["task"], line["model"]) for line in rows()}


def _folder(task: str) -> Path:
    return FOLDER / task


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=list(tasks()))
    parser.add_argument("--models", default=",".join(CONTESTANTS))
    given = parser.parse_args()
    for chosen in given.tasks:
        run_task(chosen, given.models.split(","))
