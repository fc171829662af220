"""Experiments or tables, models, rivals and controls: what a comparison is made of."""

from collections.abc import Iterable, Mapping
from math import ceil

from lupi.data.series_table import SeriesTable
from lupi.errors import UserError, check_name
from lupi.experiments.contestants import Contestant, contestant
from lupi.experiments.experiment import Experiment
from lupi.experiments.paper import EXPERIMENTS
from lupi.experiments.settings import (
    REPRODUCTIONS,
    ReproductionSettings,
    RunSettings,
    best_table_settings,
    table_settings,
)
from lupi.inference import Amortised
from lupi.registry import MODELS, ModelSettings
from lupi.rivals import RIVALS

STEPS, QUICK_STEPS = 5_000, 60
"""Of each training of the best preset: a quarter of the preset's own, so that many can be done; and
of a smoke run."""

NUM_SYSTEMS, NUM_SAMPLES = 100, 64
"""To be judged on, and samples of z."""

POINTS = (0, 1, 2, 3, 5, 8, 12, 20)
BEYOND = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)

DEFAULT_MODELS = ("nopi", "lupi", "lupi:shuffled")
DEFAULT_RIVALS = ("mean", "last-value", "nearest", "pooled-gp", "gp", "ideal")
QUICK_MODELS = ("nopi", "lupi", "lupi:shuffled", "mean", "nearest")


def default_contestants(experiments: Iterable[Experiment], *, quick: bool) -> tuple[str, ...]:
    """Who takes part unless it is said: what suits all of the experiments."""
    experiments = list(experiments)
    names = QUICK_MODELS if quick else DEFAULT_MODELS + DEFAULT_RIVALS
    told = all(experiment.privileged for experiment in experiments)
    simulated = not any(isinstance(one.source, SeriesTable) for one in experiments)
    return tuple(
        name
        for name in names
        if (told or not contestant(name).uses_privileged)
        and (simulated or name not in RIVALS or not RIVALS[name].needs_equations)
    )


def check_contestants(chosen: Iterable[Contestant], experiments: Mapping[str, Experiment]) -> None:
    """Raise if one of them cannot take part in one of the experiments."""
    for one in chosen:
        for name, experiment in experiments.items():
            source = experiment.source
            is_table = isinstance(source, SeriesTable)
            if one.is_rival and is_table and RIVALS[one.base].needs_equations:
                raise UserError(
                    f"{one.name} knows the equations of simulated systems, and {name} is a table: "
                    "leave it out."
                )
            known = source.columns.known if isinstance(source, SeriesTable) else ()
            if known and not one.is_rival and not MODELS[one.base].process.uses_inputs:
                raise UserError(
                    f"{one.name} makes no use of what is known of new systems ({', '.join(known)} "
                    f"of {name}): leave it out, or leave out the known columns."
                )
            if one.uses_privileged and not experiment.privileged:
                raise UserError(
                    f"{one.name} learns from privileged values, and {name} has none: name its "
                    "privileged columns (--privileged), or ask for nopi."
                )


def comparison_settings(
    chosen: Iterable[Contestant],
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
    *,
    preset: str = "best",
    steps: int | None = None,
    noise: float = 0.0,
    quick: bool = False,
) -> ReproductionSettings:
    """Of a comparison: every model is judged with its encoder alone, and with the search too."""
    check_name("preset", preset, REPRODUCTIONS)
    chosen = list(chosen)
    tables = {name: one for name, one in experiments.items() if isinstance(one.source, SeriesTable)}
    if tables:
        best = preset == "best" and not quick
        whole = (best_table_settings if best else table_settings)(tables)
        runs = whole.experiments
    else:
        # Networks of the paper's size compile in a third of the time.
        whole = REPRODUCTIONS["paper" if quick else preset](noise=noise)
        runs = {
            name: whole.experiments.get(name, next(iter(whole.experiments.values())))
            for name in experiments
        }
    wanted = steps or (QUICK_STEPS if quick else STEPS if preset == "best" else None)
    return ReproductionSettings(
        preset=whole.preset,
        experiments={name: _run_settings(run, wanted, quick) for name, run in runs.items()},
        models={
            one.name: _encoder_alone(one.settings(whole.models))
            for one in chosen
            if not one.is_rival
        },
        rivals=tuple(one.name for one in chosen if one.is_rival),
    )


def _encoder_alone(model: ModelSettings) -> ModelSettings:
    return model.model_copy(update={"inference": Amortised()})


def _run_settings(run: RunSettings, steps: int | None, quick: bool) -> RunSettings:
    data, training, evaluation = run.data, run.training, run.evaluation
    number = min(evaluation.num_systems, NUM_SYSTEMS)
    if quick:
        fewer = {
            "num_training": min(16, data.num_training),
            "num_validation": min(8, data.num_validation),
        }
        data, number = data.model_copy(update=fewer), min(number, 16)
        training = training.limited_to(data.num_training)
    if steps is not None:
        per_epoch = max(1, data.num_training // training.batch_size)
        training = training.model_copy(update={"epochs": max(1, ceil(steps / per_epoch))})
    if not training.keep_best:  # nothing is made of what is held out
        training = training.model_copy(update={"validations": 1, "validation_draws": 1})
    elif not quick:
        training = training.model_copy(update={"validations": training.validations or 10})
    return RunSettings(
        data=data,
        training=training,
        evaluation=evaluation.model_copy(
            update={
                "num_systems": number,
                "num_samples": 8 if quick else NUM_SAMPLES,
                "refined": True,
                "points": POINTS[:: 3 if quick else 1],
                "beyond": BEYOND[:: 3 if quick else 1],
            }
        ),
    )
