"""The whole of Table 1: many runs, interrupted and resumed, into one results file."""

import fcntl
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from loky import cpu_count, get_reusable_executor
from loky.process_executor import BrokenProcessPool
from pydantic import ValidationError

from lupi.errors import UserError
from lupi.experiments.claims import judge_claims
from lupi.experiments.results import Results, RunFolder, finished_folders
from lupi.experiments.run import run
from lupi.experiments.settings import ReproductionSettings, RunSettings
from lupi.files import write_atomically
from lupi.names import MODEL_NAMES, TASK_NAMES, check_name

POLL_SECONDS = 0.5

SEEDS_TOGETHER = 3
"""Seeds of one task and model that are trained in one loop; more gain little per seed."""

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lupi" / "compiled"

WORKER_ENVIRONMENT = {
    # One core a worker: left alone, each would start threads for all cores and they would fight.
    # NPROC is what XLA takes for the number of cores; handing small work from one thread to another
    # takes longer than doing it.
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "OMP_NUM_THREADS": "1",
    # Compiled once, used by all workers and by the next command. Functions with error callbacks,
    # diffrax's, cannot be kept: a failing simulation gives NaN instead, and `simulate` says so.
    "JAX_COMPILATION_CACHE_DIR": os.environ.get("JAX_COMPILATION_CACHE_DIR", str(CACHE)),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "EQX_ON_ERROR": "nan",
}


@dataclass(frozen=True)
class Progress:
    """How far a reproduction is."""

    runs_done: int
    runs: int
    epochs_done: int
    epochs: int


def reproduce(
    settings: ReproductionSettings,
    out: Path,
    *,
    tasks: Sequence[str] = TASK_NAMES,
    models: Sequence[str] = MODEL_NAMES,
    seeds: int = 3,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Results:
    """Do every run of the selection that `out` does not hold yet, then write `results.json`.

    Runs go side by side in `workers` processes (one for each core unless told otherwise; with 1
    they go one after another in this process). Stopped at any moment, the same call goes on: a run
    counts as done once all its files are written, and what is done is not done again. The results
    cover all finished runs of the folder, those of earlier calls included.
    """
    for kind, names, allowed in (("task", tasks, TASK_NAMES), ("model", models, MODEL_NAMES)):
        if not names:
            raise UserError(f"expected at least one {kind}, got none: name some, or leave it out.")
        for name in names:
            check_name(kind, name, allowed)
    if seeds < 1:
        raise UserError(f"seeds must be at least 1, got {seeds}: one run needs one seed.")
    _claim_folder(out, settings)
    with _locked(out):
        tasks, models = tuple(dict.fromkeys(tasks)), tuple(dict.fromkeys(models))
        _run_all(settings, out, tasks, models, seeds, workers, on_progress)
        return collect(settings, out)


def _run_all(settings, out, tasks, models, seeds, workers, on_progress) -> None:
    folders = [
        RunFolder(out, task, model, seed)
        # The longest first, so that no core waits long for another at the end; models alternate,
        # so that each worker keeps to the one it has compiled as long as it can.
        for task in sorted(tasks, key=lambda name: -settings.tasks[name].training.epochs)
        for model in models
        for seed in range(seeds)
    ]
    pending = [folder for folder in folders if folder.finished() is None]
    for folder in pending:
        folder.history_file.unlink(missing_ok=True)
    groups = [
        group
        for _, same in groupby(pending, key=lambda folder: (folder.task, folder.model))
        for group in _in_groups(list(same), SEEDS_TOGETHER)
    ]

    def report() -> None:
        epochs = {f: settings.tasks[f.task].training.epochs for f in folders}
        left = {f: epochs[f] - f.epochs_done() for f in pending if f.finished() is None}
        on_progress(
            Progress(
                runs_done=len(folders) - len(left),
                runs=len(folders),
                epochs_done=sum(epochs.values()) - sum(left.values()),
                epochs=sum(epochs.values()),
            )
        )

    report()
    workers = workers or cpu_count()
    if workers == 1:
        for group in groups:
            run(group, settings.tasks[group[0].task], on_epoch=report)
            report()
    elif groups:
        _run_in_processes(groups, settings, min(workers, len(groups)), report)


def _in_groups(items: list, size: int) -> list[list]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def collect(settings: ReproductionSettings, out: Path) -> Results:
    """Gather all finished runs of a folder into `results.json`."""
    folders = finished_folders(out)
    finished = [run for folder in folders if (run := folder.finished()) is not None]
    records = [record for run in finished for record in run.records]
    # NoPI and LUPI of one seed have the same data and so the same floor.
    floors = list({(run.floor.task, run.floor.seed): run.floor for run in finished}.values())
    results = Results(
        settings=settings.model_dump(mode="json"),
        records=records,
        floors=floors,
        claims=judge_claims(records, floors),
    )
    write_atomically(out / "results.json", results.to_json())
    return results


def _run_in_processes(groups, settings: ReproductionSettings, workers: int, report) -> None:
    executor = get_reusable_executor(
        max_workers=workers,
        timeout=60,
        env=WORKER_ENVIRONMENT,
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),  # Ctrl-C is for the parent, which ends them
    )
    try:
        futures = {
            executor.submit(_run_in_worker, group, settings.tasks[group[0].task], os.getpid())
            for group in groups
        }
        while futures:
            done, futures = wait(futures, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            report()
    except BrokenProcessPool:
        executor.shutdown(wait=True, kill_workers=True)
        raise UserError(
            "a worker process was ended from outside, perhaps because memory ran out: run the same "
            f"command again with fewer --workers (there were {workers}). Finished runs are kept."
        ) from None
    except BaseException:
        executor.shutdown(wait=True, kill_workers=True)
        raise
    executor.shutdown(wait=True)


def _run_in_worker(group: list[RunFolder], settings: RunSettings, parent: int) -> None:
    def end_with_parent() -> None:
        # A killed command must not leave workers behind that race the next one for its files.
        if os.getppid() != parent:
            os._exit(1)

    end_with_parent()
    run(group, settings, on_epoch=end_with_parent)


@contextmanager
def _locked(out: Path):
    """Hold the folder for one command; the lock goes with the process, however it ends."""
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another `lupi reproduce` is writing into {out}: wait for it, or give another "
                "--out."
            ) from None
        yield


def _claim_folder(out: Path, settings: ReproductionSettings) -> None:
    """Make `out` hold results of these settings, or refuse if it holds anything else."""
    if out.exists() and not out.is_dir():
        raise UserError(f"expected a folder at {out}, found a file: give another --out.")
    path = out / "settings.json"
    if path.exists():
        try:
            found = ReproductionSettings.model_validate_json(path.read_bytes())
        except ValidationError:
            found = None
        if found != settings:
            raise UserError(
                f"{out} holds results of other settings (see {path}; this run: "
                f"{_describe_difference(found, settings)}): give another --out, or the settings "
                "that it was made with. Nothing there was changed."
            )
    elif out.exists() and any(out.iterdir()):
        raise UserError(
            f"{out} is not empty and holds no results of `lupi reproduce`: give another --out, or "
            "empty the folder. Nothing there was changed."
        )
    else:
        write_atomically(path, settings.model_dump_json(indent=1) + "\n")


def _describe_difference(found: ReproductionSettings | None, wanted: ReproductionSettings) -> str:
    if found is None:
        return "the file there cannot be read"
    if found.version != wanted.version:
        return f"lupi {wanted.version} instead of {found.version}"
    for task, run_settings in wanted.tasks.items():
        for part in type(run_settings).model_fields:
            ours = getattr(run_settings, part).model_dump()
            theirs = getattr(found.tasks[task], part).model_dump() if task in found.tasks else {}
            for name, value in ours.items():
                if theirs.get(name) != value:
                    return f"{name} {value} instead of {theirs.get(name)} for {task}"
    return "other tasks"
