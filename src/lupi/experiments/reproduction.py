"""The whole of Table 1: many runs, interrupted and resumed, into one results file."""

import json
import operator
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from itertools import compress, groupby
from pathlib import Path
from typing import Any

from loky import cpu_count, get_reusable_executor
from loky.process_executor import BrokenProcessPool

from lupi._machinery.environment import worker_environment
from lupi._machinery.files import locked, write_atomically
from lupi._machinery.stopping import is_stopping, stops_itself
from lupi.data import SeriesTable
from lupi.errors import UserError, check_name
from lupi.experiments.claims import judge_claims
from lupi.experiments.contestants import Contestant, contestant
from lupi.experiments.expected import Expected, expected_run
from lupi.experiments.experiment import Experiment
from lupi.experiments.paper import EXPERIMENTS, PAPER_MODELS, get_experiment
from lupi.experiments.results import Results, RunFolder, failures, finished_folders
from lupi.experiments.running import run, seeds_beside
from lupi.experiments.settings import ReproductionSettings, RunSettings
from lupi.experiments.systems import check_number
from lupi.registry import MODELS, ModelSettings
from lupi.rivals import RIVALS

POLL_SECONDS = 0.5

WATCH_SECONDS = 0.1
"""How often a worker looks whether the command that started it is still there."""


@dataclass(frozen=True)
class Progress:
    """How far a reproduction is."""

    runs_done: int
    runs: int
    seconds_done: float
    """Of one core, about, as was expected of what is done."""
    seconds: float


def reproduce(
    settings: ReproductionSettings,
    out: Path,
    *,
    experiments: Sequence[str] | Mapping[str, Experiment] = tuple(EXPERIMENTS),
    models: Sequence[str] = PAPER_MODELS,
    seeds: int = 3,
    workers: int | None = None,
    keep_going: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Results:
    """Do every run of the selection that `out` does not hold yet, then write `results.json`.

    Experiments are the paper's, by their names, or a dictionary of any, by names of your own.
    Runs go side by side in `workers` processes (one for each core unless told otherwise). Stopped
    at any moment, the same call goes on: a run counts as done once all its files are written, and
    what is done is not done again. The numbers of a run depend neither on how many workers there
    are nor on what was done before. The results cover all finished runs of the folder, those of
    earlier calls included. With `keep_going` a run that fails, or whose worker is ended from
    outside, is a failure in the results, to be tried again by the next call, and the others go on.
    """
    chosen = _chosen(experiments)
    for kind, names, allowed in (
        ("experiment", chosen, settings.experiments),
        ("model", models, [*settings.models, *settings.rivals]),
    ):
        if not names:
            raise UserError(f"expected at least one {kind}, got none: name some, or leave it out.")
        for name in names:
            check_name(kind, name, allowed)
    if seeds < 1:
        raise UserError(f"seeds must be at least 1, got {seeds}: one run needs one seed.")
    tables = {}
    for name, experiment in chosen.items():
        if isinstance(experiment.source, SeriesTable):
            check_number(experiment.source, settings.experiments[name])
            tables[name] = experiment.source.fingerprint()
    _claim_folder(out, settings, models, tables)
    busy = f"another `lupi reproduce` is writing into {out}: wait for it, or give another --out."
    with locked(out / ".lock", busy):
        models = tuple(dict.fromkeys(models))
        _run_all(settings, out, chosen, models, seeds, workers, keep_going, on_progress)
        return collect(settings, out)


def _chosen(experiments: Sequence[str] | Mapping[str, Experiment]) -> dict[str, Experiment]:
    if not isinstance(experiments, Mapping):
        return {name: get_experiment(name) for name in experiments}
    for name, experiment in experiments.items():
        if experiment is not EXPERIMENTS.get(name, experiment):
            raise UserError(
                f"an experiment is named {name!r}, as one of the paper's: give it another name."
            )
        if not name or Path(name).name != name or name == "..":
            raise UserError(
                f"expected names of experiments that can name folders, got {name!r}: use letters, "
                "digits and dashes."
            )
    return dict(experiments)


def _run_all(settings, out, experiments, models, seeds, workers, keep_going, on_progress) -> None:
    folders = [
        RunFolder(out, experiment, model, seed)
        # The longest first, so that no core waits long for another at the end; models alternate,
        # so that each worker keeps to the one it has compiled as long as it can.
        for experiment in sorted(
            experiments, key=lambda name: -_num_epochs(settings.experiments[name])
        )
        for model in models
        for seed in range(seeds)
    ]
    pending = [folder for folder in folders if folder.finished() is None]
    for folder in pending:
        for file in (folder.history_file, folder.failed_file):
            file.unlink(missing_ok=True)
    together = groupby(pending, key=lambda one: (one.experiment, one.model, seeds_beside(one.seed)))
    calls = [_arguments(list(group), settings, experiments) for _, group in together]

    expected = {f: expected_run(settings, f.experiment, f.model) for f in folders}
    seconds = sum(map(sum, expected.values()))

    def report() -> None:
        left = {
            f: _left(f, expected[f], _num_epochs(settings.experiments[f.experiment]))
            for f in pending
            if f.finished() is None and not f.failed_file.exists()
        }
        on_progress(
            Progress(
                runs_done=len(folders) - len(left),
                runs=len(folders),
                seconds_done=seconds - sum(left.values()),
                seconds=seconds,
            )
        )

    report()
    known = [_is_known_to_workers(call) for call in calls]
    if any(known):
        # Also if there is one worker: all numbers are to be made with the same settings of XLA,
        # which a process reads once.
        to_send = list(compress(calls, known))
        with stops_itself():
            _run_in_processes(
                to_send, min(workers or cpu_count(), len(to_send)), report, keep_going
            )
    for call in compress(calls, map(operator.not_, known)):
        try:
            run(*call, on_epoch=report)
        except Exception as error:
            if not (keep_going and _is_of_the_run(error)):
                raise
            _note_failure(call[0], error)
        report()


def _note_failure(folders: list[RunFolder], error: Exception) -> None:
    """Keep the reason with each run of a call that is not finished."""
    text = str(error).strip() or type(error).__name__
    reason = text if isinstance(error, UserError) else f"{type(error).__name__}: {text}"
    for folder in (folder for folder in folders if folder.finished() is None):
        write_atomically(folder.failed_file, f"{reason:.500}\n")


def _is_known_to_workers(call: "_Arguments") -> bool:
    """Whether all of it is defined in modules; what the program itself defines is known here alone,
    and such runs are done here, whatever the number of workers."""
    try:
        return b"__main__" not in pickle.dumps(call)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def _num_epochs(settings: RunSettings) -> int:
    return settings.training.num_epochs(settings.data.num_training)


def _left(folder: RunFolder, expected: Expected, epochs: int) -> float:
    """Seconds of a run that is not finished: of training by its epochs, and of judging all."""
    return expected.training * max(0.0, 1 - folder.epochs_done() / epochs) + expected.judging


_Arguments = tuple[list[RunFolder], RunSettings, ModelSettings | str, Experiment]
"""Of `run`: an experiment goes to a worker as it is, since its name may be known here alone."""


def _arguments(
    group: list[RunFolder], settings: ReproductionSettings, experiments: Mapping[str, Experiment]
) -> _Arguments:
    name, model = group[0].experiment, group[0].model
    own = settings.experiments[name]
    if model in settings.models:
        who = contestant(model) if ":" in model else Contestant(model, model)
        data = own.data.model_copy(update={"privileged": who.privileged})
        refined = own.evaluation.refined and not who.encoder_only
        evaluation = own.evaluation.model_copy(update={"refined": refined})
        own = own.model_copy(update={"data": data, "evaluation": evaluation})
    return group, own, settings.models.get(model, model), experiments[name]


def collect(settings: ReproductionSettings, out: Path) -> Results:
    """Gather all finished runs of a folder into `results.json`, and what is known of others.

    Also those of models and experiments of earlier calls, which the settings do not name.
    """
    whole = _with_earlier(settings, out)
    experiments, names = whole["experiments"], [*whole["models"], *whole["rivals"]]
    folders = finished_folders(out, experiments, names)
    finished = [run for folder in folders if (run := folder.finished()) is not None]
    records = [record for run in finished for record in run.records]
    # All models of one seed have the same data and so the same floor.
    floors = list({(run.floor.experiment, run.floor.seed): run.floor for run in finished}.values())
    results = Results(
        settings=whole,
        records=records,
        floors=floors,
        claims=judge_claims(records, floors),
        failures=failures(out, experiments, names),
    )
    write_atomically(out / "results.json", results.to_json())
    return results


def _with_earlier(settings: ReproductionSettings, out: Path) -> dict[str, Any]:
    """The settings, and those that the folder keeps of earlier calls, ready to be JSON."""
    whole, path = settings.model_dump(mode="json"), out / "settings.json"
    if path.exists():
        kept = json.loads(path.read_bytes())
        # What another program had put into the registry has no label here.
        models = {k: one for k, one in kept["models"].items() if k.split(":")[0] in MODELS}
        whole |= {"experiments": whole["experiments"] | kept["experiments"]}
        whole |= {"models": whole["models"] | models}
    run = [name for name in RIVALS if any(out.glob(f"runs/*/{name}"))]
    return whole | {"rivals": list(dict.fromkeys([*settings.rivals, *run]))}


def _run_in_processes(calls: list[_Arguments], workers: int, report, keep_going: bool) -> None:
    waiting = deque(calls)
    while waiting:
        at_work: dict[Future, list[RunFolder]] = {}
        try:
            _run_in_pool(waiting, at_work, workers, report, keep_going)
        except BrokenProcessPool:
            lost = UserError(
                "a worker process was ended from outside, perhaps because memory ran out: run the "
                f"same command again with fewer --workers (there were {workers}). Finished runs "
                "are kept."
            )
            if not (keep_going and at_work):
                raise lost from None
            for folders in at_work.values():
                _note_failure(folders, lost)
            report()


def _run_in_pool(
    waiting: "deque[_Arguments]",
    at_work: dict[Future, list[RunFolder]],
    workers: int,
    report,
    keep_going: bool,
) -> None:
    """Take one call after the other from those that wait, until none is left."""
    executor = get_reusable_executor(
        max_workers=workers,
        timeout=60,
        env=worker_environment(),
        initializer=_begin_worker,
        initargs=(os.getpid(),),
    )
    try:
        while waiting or at_work:
            if is_stopping():
                raise KeyboardInterrupt
            # No more than there are workers, so that it is known which runs end with one of them.
            while waiting and len(at_work) < workers:
                at_work[executor.submit(run, *waiting[0])] = waiting[0][0]
                waiting.popleft()
            done, _ = wait(at_work, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                error = future.exception()
                if error is not None and not (keep_going and _is_of_the_run(error)):
                    raise error
                folders = at_work.pop(future)
                if isinstance(error, Exception):
                    _note_failure(folders, error)
            report()
    except BaseException:
        executor.shutdown(wait=True, kill_workers=True)
        raise
    executor.shutdown(wait=True)


def _is_of_the_run(error: BaseException) -> bool:
    """Whether another run may go on: not where a worker was ended, or nothing can be written."""
    return isinstance(error, Exception) and not isinstance(error, BrokenProcessPool | OSError)


def _begin_worker(parent: int) -> None:
    """End with the command, however that ends: it alone holds the lock of the folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _claim_folder(
    out: Path, settings: ReproductionSettings, models: Sequence[str], tables: dict[str, str]
) -> None:
    """Make `out` hold results of these settings and tables, or refuse if it holds others."""
    if out.exists() and not out.is_dir():
        raise UserError(f"expected a folder at {out}, found a file: give another --out.")
    path = out / "settings.json"
    # Of models only those that are run: others may come and go in the registry.
    ours = settings.model_dump(mode="json")
    ours["models"] = {name: ours["models"][name] for name in models if name in ours["models"]}
    del ours["rivals"]  # they have no settings
    if tables:
        ours["tables"] = tables
    if path.exists():
        found: dict[str, Any] = {}
        try:
            found = json.loads(path.read_bytes())
            difference = _difference(found, ours)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            difference = "the file there cannot be read"
        if difference:
            raise UserError(
                f"{out} holds results of other settings (see {path}; this run: {difference}): give "
                "another --out, or the settings that it was made with. Nothing there was changed."
            )
        for kind in ("experiments", "models"):
            ours[kind] = found[kind] | ours[kind]
        if "tables" in found:
            ours["tables"] = found["tables"] | tables
    elif out.exists() and any(out.iterdir()):
        raise UserError(
            f"{out} is not empty and holds no results of `lupi reproduce`: give another --out, or "
            "empty the folder. Nothing there was changed."
        )
    write_atomically(path, json.dumps(ours, indent=1) + "\n")


def _difference(found: dict[str, Any], ours: dict[str, Any]) -> str | None:
    """The first setting that the folder has otherwise, in words."""
    if found["version"] != ours["version"]:
        return f"lupi {ours['version']} instead of {found['version']}"
    if found.get("preset", ours["preset"]) != ours["preset"]:
        return f"the preset {ours['preset']} instead of {found['preset']}"
    for kind in ("experiments", "models"):
        for name in (name for name in ours[kind] if name in found[kind]):
            for setting, (old, new) in _changes(found[kind][name], ours[kind][name]):
                return f"{setting} {new} instead of {old} for {name}"
    for name, table in ours.get("tables", {}).items():
        if found.get("tables", {}).get(name, table) != table:
            return f"another table for {name}"
    return None


def _changes(old: Any, new: Any, name: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _changes(old.get(key), new.get(key), key)
    elif old != new:
        yield name, (old, new)
