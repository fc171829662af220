"""Runs of one experiment and one model, from nothing to saved results."""

import time
from collections.abc import Callable, Mapping, Sequence

from lupi._machinery.files import write_atomically
from lupi._machinery.memory import give_back_memory
from lupi.data import Task
from lupi.experiments.experiment import Experiment
from lupi.experiments.judging import judge
from lupi.experiments.lessons import Lesson
from lupi.experiments.modes import REFINED
from lupi.experiments.paper import get_experiment
from lupi.experiments.results import FinishedRun, RunFolder
from lupi.experiments.settings import RunSettings
from lupi.inference import InferringPredictor, Refined
from lupi.models import AbstractPredictor, AbstractProcess, build_process, save_process
from lupi.models.process import num_parameters
from lupi.preparation import prepare
from lupi.registry import ModelSettings
from lupi.rivals import RIVALS
from lupi.training import EpochRow, fit_together

SEEDS_TOGETHER = 3
"""Seeds of one experiment and model that are trained in one loop; more gain little per seed."""


def seeds_beside(seed: int) -> list[int]:
    """The seeds that train in one loop with this one, whichever of them are asked for or finished.

    How many there are decides how sums are rounded, and training makes much of that.
    """
    first = seed - seed % SEEDS_TOGETHER
    return list(range(first, first + SEEDS_TOGETHER))


def run(
    folders: Sequence[RunFolder],
    settings: RunSettings,
    model: ModelSettings | str,
    experiment: Experiment | None = None,
    *,
    on_epoch: Callable[[], None] = lambda: None,
) -> list[FinishedRun]:
    """Train one model for several seeds, together, and evaluate and save each in its folder.

    The seeds are some of those that train in one loop (`seeds_beside`); all of these are trained,
    so that the numbers of one do not depend on which of the others are asked for. All random
    numbers of a run come from its seed, each kind from a key of its own, so models of one seed
    share data, contexts, splits and the initial weights of the parts they share. Without an
    `experiment` it is the paper's that the folders are named after. A name instead of a model is
    that of a rival.
    """
    experiment = experiment or get_experiment(folders[0].experiment)
    if isinstance(model, str):
        return [_run_rival(folder, settings, model, experiment) for folder in folders]
    beside = {seed: Lesson.of(experiment, settings, seed) for seed in seeds_beside(folders[0].seed)}
    give_back_memory()
    if len({lesson.shapes for lesson in beside.values()}) == 1:
        return _run_together(folders, beside, settings, model, experiment, on_epoch)
    return [
        finished
        for folder in folders
        for finished in _run_together(
            [folder], {folder.seed: beside[folder.seed]}, settings, model, experiment, on_epoch
        )
    ]


def _run_rival(
    folder: RunFolder, settings: RunSettings, name: str, experiment: Experiment
) -> FinishedRun:
    """Learn from the training systems of one seed without a process, and be judged."""
    lesson = Lesson.of(experiment, settings, folder.seed)
    training, ideal = lesson.data.training, lesson.data.ideal
    started = time.perf_counter()
    predictor = RIVALS[name].learn(
        training if isinstance(training, Task) else training.padded(),
        ideal() if ideal is not None and RIVALS[name].needs_equations else None,
        lesson.keys.fit,
    )
    seconds = {"train": time.perf_counter() - started}
    return judge(folder, {"": predictor}, lesson, settings, experiment, seconds=seconds)


def _run_together(
    folders: Sequence[RunFolder],
    beside: Mapping[int, Lesson],
    settings: RunSettings,
    model: ModelSettings,
    experiment: Experiment,
    on_epoch: Callable[[], None],
) -> list[FinishedRun]:
    """Train on all lessons, by their seeds, in one loop; evaluate and save those of the folders."""
    lessons = list(beside.values())
    seen = lessons[0].data.test.observations
    sizes = {
        "observation_size": seen.ys.shape[-1],
        "privileged_size": model.privileged_size(lessons[0].data.test.privileged.shape[-1]),
        "input_size": 0 if seen.inputs is None else seen.inputs.values.shape[-1],
    }

    def add_rows(rows: list[EpochRow]) -> None:
        by_seed = dict(zip(beside, rows, strict=True))
        for folder in folders:
            _add_to_history(folder, by_seed[folder.seed])
        on_epoch()

    started = time.perf_counter()
    fitted = fit_together(
        [build_process(model.process, **sizes, key=lesson.keys.weights) for lesson in lessons],
        [lesson.tasks for lesson in lessons],
        [lesson.data.validation for lesson in lessons],
        settings=settings.training,
        objective=model.objective,
        on_epoch=add_rows,
        keys=[lesson.keys.fit for lesson in lessons],
    )
    trained = dict(zip(beside, fitted, strict=True))
    train_seconds = (time.perf_counter() - started) / len(lessons)
    give_back_memory()

    finished = []
    for folder in folders:
        process, lesson = trained[folder.seed].process, beside[folder.seed]
        started = time.perf_counter()
        predictors = _predictors(process, model, lesson, settings)
        seconds = {"train": train_seconds, "prepare": time.perf_counter() - started}
        save_process(folder.model_file, process, model.process)
        parameters = {
            "parameters": num_parameters(process.without_privileged()),
            "training_parameters": num_parameters(process),
        }
        finished.append(
            judge(
                folder,
                predictors,
                lesson,
                settings,
                experiment,
                process=process,
                more=parameters,
                seconds=seconds,
            )
        )
    return finished


def _predictors(
    process: AbstractProcess, model: ModelSettings, lesson: Lesson, settings: RunSettings
) -> dict[str, AbstractPredictor]:
    """What predicts with a process, by what its modes end in: the model's own inference, and the
    search in the decoder where that is asked for, is another, and has a latent to search."""
    known = lesson.data.training, lesson.data.validation
    key = lesson.keys.prediction
    family = prepare(process, model.inference, *known, key=key)
    found = {"": model.predictor(process, family)}
    search = Refined()
    if settings.evaluation.refined and model.inference != search:
        family = prepare(process, search, *known, key=key)
        if family is not None:
            found[REFINED] = InferringPredictor(process=process, inference=search, family=family)  # pyright: ignore[reportCallIssue]
    return found


def _add_to_history(folder: RunFolder, row: EpochRow) -> None:
    """Write an epoch as it ends: whoever watches sees how far the run is."""
    if row["epoch"] == 1:
        write_atomically(folder.history_file, ",".join(row) + "\n")
    with folder.history_file.open("r+") as file:
        names = file.readline().strip().split(",")
        file.seek(0, 2)
        values = (f"{row[name]:.6g}" if name in row else "" for name in names)
        file.write(",".join(values) + "\n")
