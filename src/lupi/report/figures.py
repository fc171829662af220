"""The paper's figures, from saved results."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib import cm, colormaps, style
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter

from lupi._machinery.files import write_atomically
from lupi.experiments.experiment import Experiment
from lupi.experiments.paper import EXPERIMENTS
from lupi.experiments.results import RunFolder
from lupi.metrics import calibration_curve
from lupi.registry import MODELS

STYLE = Path(__file__).with_name("lupi.mplstyle")
DASHES = {"test": "-", "train": (0, (4, 1.5))}
MODE_LABELS = {"test": "", "train": "*"}
TRACES = 60
"""Trajectories drawn of each family."""


def write_figures(
    folders: list[RunFolder], out: Path, experiments: Mapping[str, Experiment] = EXPERIMENTS
) -> list[Path]:
    """Draw every figure the runs allow, each as PNG and SVG; gives the paths of the PNGs."""
    experiments = {
        name: experiment
        for name, experiment in experiments.items()
        if any(folder.experiment == name for folder in folders)
    }
    drawings: dict[str, Callable[[], Figure]] = {
        "induced-dynamics": lambda: draw_induced_dynamics(folders, experiments),
    }
    for name, experiment in experiments.items():
        own = [folder for folder in folders if folder.experiment == name]
        drawings[name] = lambda own=own, experiment=experiment: draw_comparison(own, experiment)
    drawings["training"] = lambda: draw_training(folders, experiments)
    paths = []
    with style.context(STYLE):
        for name, draw in drawings.items():
            figure = draw()
            # Laid out once, not at every saving: that takes as long as the drawing.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            for kind in ("svg", "png"):
                buffer = io.BytesIO()
                # No date: the same results give the same file.
                metadata = {"Date": None} if kind == "svg" else {}
                figure.savefig(buffer, format=kind, metadata=metadata)
                path = out / f"{name}.{kind}"
                write_atomically(path, buffer.getvalue())
            paths.append(path)
    return paths


def draw_induced_dynamics(
    folders: list[RunFolder], experiments: Mapping[str, Experiment]
) -> Figure:
    """Figure 3: what each family looks like, coloured by the (first) privileged quantity."""
    num_rows = max(len(experiment.quantities) for experiment in experiments.values())
    figure = Figure(figsize=(3.4 * len(experiments), 1.9 * num_rows))
    axes = figure.subplots(num_rows, len(experiments), sharex="col", squeeze=False)
    for column, (name, experiment) in enumerate(experiments.items()):
        arrays = next(folder for folder in folders if folder.experiment == name).predictions()
        times, known = _times(arrays), _known(arrays)
        privileged = arrays["privileged"][:TRACES, :1]
        coloured = np.isfinite(privileged).any()
        norm = Normalize(*((np.nanmin(privileged), np.nanmax(privileged)) if coloured else (0, 1)))
        for row, quantity in enumerate(experiment.quantities):
            axis = axes[row, column]
            for system, trace in enumerate(arrays["observed"][:TRACES]):
                there, value = known[system, :, row], privileged[system]
                colour = colormaps["viridis"](norm(value[0])) if np.isfinite(value).any() else "0.6"
                axis.plot(
                    times[system, there], trace[there, row], color=colour, linewidth=0.7, alpha=0.8
                )
            axis.set_ylabel(quantity)
        for axis in axes[len(experiment.quantities) :, column]:
            axis.set_visible(False)
        own = axes[: len(experiment.quantities), column]
        own[0].set_title(experiment.title)
        own[-1].set_xlabel("time")
        own[-1].tick_params(labelbottom=True)
        if coloured:
            scale = cm.ScalarMappable(norm, "viridis")
            figure.colorbar(scale, ax=own, label=experiment.privileged, pad=0.02)
    return figure


def _times(arrays) -> np.ndarray:
    """The times of each system."""
    return np.broadcast_to(arrays["times"], arrays["context"].shape)


def _known(arrays) -> np.ndarray:
    """Which values were observed."""
    return arrays.get("known", np.ones(arrays["observed"].shape, bool))


def _of_systems(values: np.ndarray, arrays) -> np.ndarray:
    """The mean of each system over what was observed."""
    known = _known(arrays)
    total = np.where(known, values, 0.0).sum(axis=(1, 2))
    return total / known.sum(axis=(1, 2), dtype=total.dtype)


def draw_comparison(folders: list[RunFolder], experiment: Experiment) -> Figure:
    """Figures 4 and 5, for one experiment: example predictions, calibration and sharpness."""
    figure = Figure(figsize=(13, 4.4))
    panels = figure.subfigures(1, 3, width_ratios=[2.1, 1, 1], squeeze=False)
    left, middle, right = np.asarray(panels)[0]
    arrays = {(f.model, f.seed): f.predictions() for f in folders}
    _draw_examples(left, folders, arrays, experiment.quantities)
    _draw_calibration(middle.subplots(), arrays)
    _draw_sharpness(right.subplots(), arrays)
    left.suptitle("a  Example predictions", x=0.01, ha="left", fontweight="bold")
    middle.suptitle("b  Calibration", x=0.01, ha="left", fontweight="bold")
    right.suptitle("c  Sharpness", x=0.01, ha="left", fontweight="bold")
    return figure


def _draw_examples(
    figure: SubFigure, folders: list[RunFolder], arrays, quantities: tuple[str, ...]
) -> None:
    models = [model for model in MODELS if any(folder.model == model for folder in folders)]
    first = {model: min(f.seed for f in folders if f.model == model) for model in models}
    shown = arrays[models[-1], first[models[-1]]]
    errors = _of_systems((shown["test_mean"] - shown["observed"]) ** 2, shown)
    # The system whose error is the median one: neither the best case nor the worst.
    system = int(np.argsort(errors)[len(errors) // 2])
    axes = figure.subplots(2, len(models), sharex=True, sharey=True, squeeze=False)
    for row, mode in enumerate(("test", "train")):
        for column, model in enumerate(models):
            _draw_example(axes[row, column], arrays[model, first[model]], system, mode, model)
            axes[row, column].set_title(MODELS[model].label + MODE_LABELS[mode])
    for axis in axes[-1]:
        axis.set_xlabel("time")
    for row in axes:
        row[0].set_ylabel(", ".join(quantities))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handlelength=1.2)


def _draw_example(axis: Axes, arrays, system: int, mode: str, model: str) -> None:
    known = _known(arrays)[system]
    real = known.any(axis=1)
    times, context = _times(arrays)[system, real], arrays["context"][system, real]
    mean, std = arrays[f"{mode}_mean"][system, real], arrays[f"{mode}_std"][system, real]
    observed = np.where(known, arrays["observed"][system], np.nan)[real]
    for quantity in range(observed.shape[1]):
        first = quantity == 0
        for width, alpha in ((2, 0.18), (1, 0.3)):
            axis.fill_between(
                times,
                (mean - width * std)[:, quantity],
                (mean + width * std)[:, quantity],
                color=MODELS[model].colour,
                alpha=alpha,
                linewidth=0,
                label=f"±{width} std" if first else None,
            )
        axis.plot(
            times,
            mean[:, quantity],
            color=MODELS[model].colour,
            label="prediction" if first else None,
        )
        axis.plot(
            times,
            observed[:, quantity],
            color="black",
            linewidth=0.9,
            linestyle=":",
            label="truth" if first else None,
        )
        if mode == "test":
            axis.plot(
                times[context],
                observed[context, quantity],
                "o",
                color="black",
                markersize=3.2,
                label="context" if first else None,
            )


def _draw_calibration(axis: Axes, arrays) -> None:
    axis.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    for mode in ("test", "train"):
        for model in MODELS:
            curves = [
                _curve(a[f"{mode}_pit"], _known(a)) for (m, _), a in arrays.items() if m == model
            ]
            if not curves:
                continue
            levels = np.arange(1, curves[0].size + 1) / curves[0].size
            for curve in curves:
                axis.plot(levels, curve, color=MODELS[model].colour, linewidth=0.5, alpha=0.35)
            axis.plot(
                levels,
                np.mean(curves, axis=0),
                color=MODELS[model].colour,
                linestyle=DASHES[mode],
                label=MODELS[model].label + MODE_LABELS[mode],
            )
    axis.set(xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1))
    axis.set_aspect("equal")
    axis.legend(loc="lower right")


def _curve(pit: np.ndarray, known: np.ndarray) -> np.ndarray:
    """How often, over all systems and quantities, the PIT is at most each level."""
    return calibration_curve(pit, known).over(0).over(0).share


def _draw_sharpness(axis: Axes, arrays) -> None:
    for mode in ("test", "train"):
        for model in MODELS:
            values = [
                _of_systems(a[f"{mode}_std"], a) for (m, _), a in arrays.items() if m == model
            ]
            if not values:
                continue
            per_system = np.concatenate(values)
            per_system = per_system[per_system > 0]  # a model without a latent has no spread
            if per_system.size == 0:
                continue
            axis.hist(
                per_system,
                bins=np.geomspace(per_system.min() * 0.99, per_system.max() * 1.01, 40),
                weights=np.full(per_system.size, 1 / per_system.size),
                histtype="step",
                color=MODELS[model].colour,
                linestyle=DASHES[mode],
                linewidth=1.3,
                label=MODELS[model].label + MODE_LABELS[mode],
            )
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set(xlabel="mean standard deviation of a system", ylabel="share of systems")
    if axis.patches:
        axis.legend(loc="best")
    else:
        axis.text(0.5, 0.5, "no model here has a spread", transform=axis.transAxes, ha="center")


def draw_training(folders: list[RunFolder], experiments: Mapping[str, Experiment]) -> Figure:
    """Both terms of the objective over the epochs, every seed."""
    figure = Figure(figsize=(3.6 * len(experiments), 4.6))
    axes = figure.subplots(2, len(experiments), sharex="col", squeeze=False)
    for column, (name, experiment) in enumerate(experiments.items()):
        labelled = set()
        for folder in (f for f in folders if f.experiment == name):
            history = folder.history()
            for row, term in enumerate(("log_likelihood", "kl")):
                for part, width in (("train", 1.1), ("validation", 0.6)):
                    values = history.get(f"{part}_{term}")
                    if values is None:  # of another objective
                        continue
                    there = np.isfinite(values)
                    label = f"{MODELS[folder.model].label}, {part}"
                    axes[row, column].plot(
                        history["epoch"][there],
                        values[there],
                        color=MODELS[folder.model].colour,
                        linewidth=width,
                        linestyle="-" if part == "train" else ":",
                        alpha=0.8,
                        label=None if (row, label) in labelled else label,
                    )
                    labelled.add((row, label))
        axes[0, column].set_title(experiment.title)
        axes[1, column].set_xlabel("epoch")
        # The first epochs lie far below and would flatten everything after them.
        drawn = [line.get_ydata() for line in axes[0, column].lines]
        low, high = np.percentile(np.concatenate(drawn), [2, 100]) if drawn else (0, 0)
        if high > low:
            axes[0, column].set_ylim(low, high + 0.05 * (high - low))
    axes[0, 0].set_ylabel("log-likelihood")
    axes[1, 0].set_ylabel("KL divergence")
    axes[0, 0].legend(loc="lower right")
    return figure
