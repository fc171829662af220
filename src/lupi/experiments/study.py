"""What the paper leaves open, as parts of one study: each a set of experiments and contestants."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from lupi.distributions import Uniform
from lupi.experiments.comparison import comparison_settings
from lupi.experiments.contestants import all_contestants
from lupi.experiments.experiment import Experiment, Shift
from lupi.experiments.paper import EXPERIMENTS, get_experiment
from lupi.experiments.settings import ReproductionSettings, RunSettings
from lupi.registry import MODELS
from lupi.systems import DampedOscillators, LotkaVolterra

SIZES = (25, 50, 100, 200, 400)
"""Of training systems."""
WIDTHS = (1, 2, 3, 4, 8, 16)
TIMES_AS_LONG = (1, 2, 4, 8)
"""Training, in the paper's."""
POINTS_OF_A_FUNCTION = 100

SAME = "same"
"""The shift that is none: what others are compared with."""

WATCHED = {
    "twice-as-long": Shift("twice the horizon, judged beyond the first", horizons=2),
    "noise": Shift("noise of 0.2 std on observations, none in training", noise=0.2),
    "early": Shift("points of the first third only", window=(0.0, 1 / 3)),
    "late": Shift("points of the last third only", window=(2 / 3, 1.0)),
}
"""Shifts of any family."""

LIKE_TRAINING = Shift("systems like those of training")

SHIFTS: dict[str, dict[str, Shift]] = {
    "stiffness": {
        "stiffer": Shift(
            "k in (1, 1.5), trained on (0.2, 1)",
            DampedOscillators(k=Uniform(1.0, 1.5), c=1.0, privileged=("k",)),
        ),
        "masses": Shift(
            "masses 1 and 2, trained on 1 and 1",
            DampedOscillators(k=Uniform(0.2, 1.0), c=1.0, m2=2.0, privileged=("k",)),
        ),
    },
    "damping": {
        "damped": Shift(
            "c in (2, 3), trained on (0.5, 2)",
            DampedOscillators(k=0.5, c=Uniform(2.0, 3.0), privileged=("c",)),
        ),
    },
    "lotka-volterra": {
        "larger": Shift(
            # Around the equilibrium (1, 0.5) populations go through those of training.
            "u₀ in (2, 3) and v₀ in (1, 2), trained on (0.2, 1) and (0.1, 0.5)",
            LotkaVolterra(u0=Uniform(2.0, 3.0), v0=Uniform(1.0, 2.0), privileged=("V",)),
        ),
    },
}


class Part(NamedTuple):
    """One question of the study."""

    name: str
    title: str
    question: str
    experiments: dict[str, Experiment]
    models: tuple[str, ...]
    settings: ReproductionSettings
    values: dict[str, float]
    """What a curve is drawn against: of each experiment or, if these share one, of each model."""


def generalisation(quick: bool) -> Part:
    """Systems, times and points unlike those of training."""
    names = ("stiffness",) if quick else tuple(EXPERIMENTS)
    experiments = {
        # Of another name than the paper's: what it is judged on is more.
        f"{name}-shifted": replace(
            EXPERIMENTS[name], shifts={SAME: LIKE_TRAINING} | SHIFTS[name] | WATCHED
        )
        for name in names
    }
    models = ("cnp", "nearest") if quick else ("nopi", "lupi", "nearest", "pooled-gp")
    return Part(
        "generalisation",
        "Systems unlike those of training",
        "How much does a forecast lose on systems, times and points that training has not seen, "
        "does the uncertainty grow as the error does, and are such systems called strangers?",
        experiments,
        models,
        _settings(models, experiments, quick),
        {},
    )


def samples(quick: bool) -> Part:
    """Few training systems and many."""
    sizes = (8, 16) if quick else SIZES
    names = ("stiffness",) if quick else tuple(EXPERIMENTS)
    experiments = {f"{name}-{size}": EXPERIMENTS[name] for name in names for size in sizes}
    values = {f"{name}-{size}": float(size) for name in names for size in sizes}
    models = ("cnp", "mean") if quick else ("nopi", "lupi", "nearest", "pooled-gp")

    def resized(name: str, run: RunSettings) -> RunSettings:
        size = int(values[name])
        fewer = {"num_training": size, "num_validation": max(2, size // 4)}
        data = run.data.model_copy(update=fewer)
        steps = run.training.num_epochs(run.data.num_training) * max(
            1, run.data.num_training // run.training.batch_size
        )
        training = run.training.limited_to(size)
        epochs = max(1, steps // max(1, size // training.batch_size))
        return run.model_copy(
            update={"data": data, "training": training.model_copy(update={"epochs": epochs})}
        )

    return Part(
        "samples",
        "Training systems",
        "With how few training systems does privileged information help, and when is a network "
        "worth it?",
        experiments,
        models,
        _settings(models, experiments, quick, change=resized),
        values,
    )


def width(quick: bool) -> Part:
    """Narrow networks."""
    widths = (2, 4) if quick else WIDTHS
    bases = ("cnp",) if quick else ("nopi", "lupi")
    models = tuple(f"{base}:width={one}:amortised" for base in bases for one in widths)
    experiments = {"stiffness": EXPERIMENTS["stiffness"]}
    return Part(
        "width",
        "Width of the networks",
        "The paper says that nothing is learnt with hidden layers narrower than 4.",
        experiments,
        models,
        _settings(models, experiments, quick, preset="paper"),
        {name: float(name.split("=")[1].split(":")[0]) for name in models},
    )


def longer(quick: bool) -> Part:
    """Training for longer."""
    times = (1, 2) if quick else TIMES_AS_LONG
    experiments = {f"stiffness-{number}x": EXPERIMENTS["stiffness"] for number in times}
    values = {f"stiffness-{number}x": float(number) for number in times}
    models = ("cnp:amortised",) if quick else ("nopi:amortised", "lupi:amortised")

    def lengthened(name: str, run: RunSettings) -> RunSettings:
        epochs = int(values[name]) * run.training.num_epochs(run.data.num_training)
        return run.model_copy(
            update={"training": run.training.model_copy(update={"epochs": epochs})}
        )

    return Part(
        "longer",
        "Training for longer",
        "The paper stops at 100 epochs and says that models are stable there and do not diverge.",
        experiments,
        models,
        _settings(models, experiments, quick, preset="paper", change=lengthened),
        values,
    )


def functions(quick: bool) -> Part:
    """A family that is not dynamics."""
    experiments = {"line-and-sine": get_experiment("line-and-sine")}
    models = ("np", "np-lupi") + (() if quick else ("np-lupi:shuffled", "pooled-gp"))
    # A standard deviation of 0.2, as neural processes are usually shown it.
    settings = comparison_settings(all_contestants(models), experiments, noise=0.18, quick=quick)
    (run,) = settings.experiments.values()
    data = run.data.model_copy(update={"num_times": POINTS_OF_A_FUNCTION})
    runs = {"line-and-sine": run.model_copy(update={"data": data})}
    return Part(
        "functions",
        "A family that is not dynamics",
        "y = a·x + sin(b·x) + c with a, b and c privileged: does a neural process learn more when "
        "it is told them?",
        experiments,
        models,
        settings.model_copy(update={"experiments": runs}),
        {},
    )


PARTS: dict[str, Callable[[bool], Part]] = {
    "generalisation": generalisation,
    "samples": samples,
    "width": width,
    "longer": longer,
} | ({"functions": functions} if "np" in MODELS else {})
"""By name; each says what it is made of, in earnest or quickly."""


def _settings(
    models: tuple[str, ...],
    experiments: Mapping[str, Experiment],
    quick: bool,
    *,
    preset: str = "best",
    change: Callable[[str, RunSettings], RunSettings] = lambda name, run: run,
) -> ReproductionSettings:
    """Those of a comparison, without its curves."""
    whole = comparison_settings(all_contestants(models), experiments, preset=preset, quick=quick)
    runs = {}
    for name, run in whole.experiments.items():
        evaluation = run.evaluation.model_copy(update={"points": (), "beyond": ()})
        runs[name] = change(name, run.model_copy(update={"evaluation": evaluation}))
    return whole.model_copy(update={"experiments": runs})
