"""The paper's figures, from saved results."""

import io
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from matplotlib import cm, colormaps, style
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter

from lupi.experiments.results import RunFolder
from lupi.files import write_atomically
from lupi.metrics import calibration_curve, sharpness
from lupi.report.paper import LABELS, TITLES

STYLE = Path(__file__).with_name("lupi.mplstyle")
COLOURS = {"nopi": "#c8553d", "lupi": "#1f6f8b"}
DASHES = {"test": "-", "train": (0, (4, 1.5))}
MODE_LABELS = {"test": "", "train": "*"}
QUANTITIES = {
    "stiffness": ("x₁", "x₂"),
    "damping": ("x₁", "x₂"),
    "lotka-volterra": ("prey u", "predators v"),
}
PRIVILEGED = {"stiffness": "stiffness k", "damping": "damping c", "lotka-volterra": "V"}
TRACES = 60
"""Trajectories drawn of each family."""


def write_figures(folders: list[RunFolder], out: Path) -> list[Path]:
    """Draw every figure the runs allow, each as PNG and SVG; gives the paths of the PNGs."""
    tasks = [task for task in TITLES if any(folder.task == task for folder in folders)]
    drawings: dict[str, Callable[[], Figure]] = {
        "induced-dynamics": lambda: draw_induced_dynamics(folders, tasks),
    }
    for task in tasks:
        of_task = [folder for folder in folders if folder.task == task]
        drawings[task] = lambda of_task=of_task: draw_comparison(of_task)
    drawings["training"] = lambda: draw_training(folders, tasks)
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


def draw_induced_dynamics(folders: list[RunFolder], tasks: list[str]) -> Figure:
    """Figure 3: what each family looks like, coloured by the privileged quantity."""
    figure = Figure(figsize=(3.4 * len(tasks), 3.8))
    axes = figure.subplots(2, len(tasks), sharex=True, squeeze=False)
    for column, task in enumerate(tasks):
        arrays = next(folder for folder in folders if folder.task == task).predictions()
        times, privileged = arrays["times"], arrays["privileged"][:TRACES, 0]
        norm = Normalize(privileged.min(), privileged.max())
        for row, quantity in enumerate(QUANTITIES[task]):
            axis = axes[row, column]
            for trace, value in zip(arrays["observed"][:TRACES], privileged, strict=True):
                colour = colormaps["viridis"](norm(value))
                axis.plot(times, trace[:, row], color=colour, linewidth=0.7, alpha=0.8)
            axis.set_ylabel(quantity)
        axes[0, column].set_title(TITLES[task])
        axes[1, column].set_xlabel("time")
        scale = cm.ScalarMappable(norm, "viridis")
        figure.colorbar(scale, ax=axes[:, column], label=PRIVILEGED[task], pad=0.02)
    return figure


def draw_comparison(folders: list[RunFolder]) -> Figure:
    """Figures 4 and 5, for one task: example predictions, calibration and sharpness."""
    figure = Figure(figsize=(13, 4.4))
    panels = figure.subfigures(1, 3, width_ratios=[2.1, 1, 1], squeeze=False)
    left, middle, right = np.asarray(panels)[0]
    arrays = {(f.model, f.seed): f.predictions() for f in folders}
    _draw_examples(left, folders, arrays)
    _draw_calibration(middle.subplots(), arrays)
    _draw_sharpness(right.subplots(), arrays)
    left.suptitle("a  Example predictions", x=0.01, ha="left", fontweight="bold")
    middle.suptitle("b  Calibration", x=0.01, ha="left", fontweight="bold")
    right.suptitle("c  Sharpness", x=0.01, ha="left", fontweight="bold")
    return figure


def _draw_examples(figure: SubFigure, folders: list[RunFolder], arrays) -> None:
    models = [model for model in LABELS if any(folder.model == model for folder in folders)]
    first = {model: min(f.seed for f in folders if f.model == model) for model in models}
    shown = arrays[models[-1], first[models[-1]]]
    errors = ((shown["test_mean"] - shown["observed"]) ** 2).mean(axis=(1, 2))
    # The system whose error is the median one: neither the best case nor the worst.
    system = int(np.argsort(errors)[len(errors) // 2])
    axes = figure.subplots(2, len(models), sharex=True, sharey=True, squeeze=False)
    for row, mode in enumerate(("test", "train")):
        for column, model in enumerate(models):
            _draw_example(axes[row, column], arrays[model, first[model]], system, mode, model)
            axes[row, column].set_title(LABELS[model] + MODE_LABELS[mode])
    for axis in axes[-1]:
        axis.set_xlabel("time")
    names = QUANTITIES[folders[0].task]
    for row in axes:
        row[0].set_ylabel(", ".join(names))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handlelength=1.2)


def _draw_example(axis: Axes, arrays, system: int, mode: str, model: str) -> None:
    times, observed = arrays["times"], arrays["observed"][system]
    mean, std = arrays[f"{mode}_mean"][system], arrays[f"{mode}_std"][system]
    context = arrays["context"][system]
    for quantity in range(observed.shape[1]):
        first = quantity == 0
        for width, alpha in ((2, 0.18), (1, 0.3)):
            axis.fill_between(
                times,
                (mean - width * std)[:, quantity],
                (mean + width * std)[:, quantity],
                color=COLOURS[model],
                alpha=alpha,
                linewidth=0,
                label=f"±{width} std" if first else None,
            )
        axis.plot(
            times, mean[:, quantity], color=COLOURS[model], label="prediction" if first else None
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
        for model in LABELS:
            curves = [
                np.asarray(calibration_curve(jnp.asarray(a[f"{mode}_pit"]))).mean(axis=0)
                for (m, _), a in arrays.items()
                if m == model
            ]
            if not curves:
                continue
            levels = np.arange(1, curves[0].size + 1) / curves[0].size
            for curve in curves:
                axis.plot(levels, curve, color=COLOURS[model], linewidth=0.5, alpha=0.35)
            axis.plot(
                levels,
                np.mean(curves, axis=0),
                color=COLOURS[model],
                linestyle=DASHES[mode],
                label=LABELS[model] + MODE_LABELS[mode],
            )
    axis.set(xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1))
    axis.set_aspect("equal")
    axis.legend(loc="lower right")


def _draw_sharpness(axis: Axes, arrays) -> None:
    for mode in ("test", "train"):
        for model in LABELS:
            values = [a[f"{mode}_std"] for (m, _), a in arrays.items() if m == model]
            if not values:
                continue
            per_system = np.asarray(sharpness(jnp.concatenate(values)))
            axis.hist(
                per_system,
                bins=np.geomspace(per_system.min() * 0.99, per_system.max() * 1.01, 40),
                weights=np.full(per_system.size, 1 / per_system.size),
                histtype="step",
                color=COLOURS[model],
                linestyle=DASHES[mode],
                linewidth=1.3,
                label=LABELS[model] + MODE_LABELS[mode],
            )
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set(xlabel="mean standard deviation of a system", ylabel="share of systems")
    axis.legend(loc="best")


def draw_training(folders: list[RunFolder], tasks: list[str]) -> Figure:
    """Both terms of the objective over the epochs, every seed."""
    figure = Figure(figsize=(3.6 * len(tasks), 4.6))
    axes = figure.subplots(2, len(tasks), sharex="col", squeeze=False)
    for column, task in enumerate(tasks):
        labelled = set()
        for folder in (f for f in folders if f.task == task):
            history = folder.history()
            for row, term in enumerate(("log_likelihood", "kl")):
                for part, width in (("train", 1.1), ("validation", 0.6)):
                    label = f"{LABELS[folder.model]}, {part}"
                    axes[row, column].plot(
                        history["epoch"],
                        history[f"{part}_{term}"],
                        color=COLOURS[folder.model],
                        linewidth=width,
                        linestyle="-" if part == "train" else ":",
                        alpha=0.8,
                        label=None if (row, label) in labelled else label,
                    )
                    labelled.add((row, label))
        axes[0, column].set_title(TITLES[task])
        axes[1, column].set_xlabel("epoch")
        # The first epochs lie far below and would flatten everything after them.
        low, high = np.percentile(
            np.concatenate([line.get_ydata() for line in axes[0, column].lines]), [2, 100]
        )
        if high > low:
            axes[0, column].set_ylim(low, high + 0.05 * (high - low))
    axes[0, 0].set_ylabel("log-likelihood")
    axes[1, 0].set_ylabel("KL divergence")
    axes[0, 0].legend(loc="lower right")
    return figure
