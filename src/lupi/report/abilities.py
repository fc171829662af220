"""Figure 1: what neural ODEs, neural processes and neural ODE processes can do, side by side."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lupi._machinery.files import write_atomically
from lupi.report.figures import STYLE


class Panel(NamedTuple):
    """One forecast of one quantity of one system."""

    colour: str
    times: Float[np.ndarray, " time"]
    truth: Float[np.ndarray, " time"]
    mean: Float[np.ndarray, " time"]
    lower: Float[np.ndarray, " time"]
    upper: Float[np.ndarray, " time"]
    """The ends of the 90% interval."""
    seen: Float[np.ndarray, "2 point"]
    """Times and values of the context."""
    learnt: Float[np.ndarray, "2 point"] | None = None
    """The same of another system, where that is all that the model knows."""
    note: str = ""
    """How it does on many systems."""


class Row(NamedTuple):
    """The same question to each of the models."""

    title: str
    quantity: str
    panels: Sequence[Panel]
    end_of_training: float
    """After it no model has seen anything of any system."""


def write_abilities(path: Path, models: Sequence[str], rows: Sequence[Row]) -> None:
    """Draw the figure, a column for each model, into a PNG."""
    with style.context(STYLE):
        figure = draw_abilities(models, rows)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
    write_atomically(path, buffer.getvalue())


def draw_abilities(models: Sequence[str], rows: Sequence[Row]) -> Figure:
    """A column for each model, a row for each question."""
    figure = Figure(figsize=(3.5 * len(models), 2.7 * len(rows) + 0.3))
    axes = figure.subplots(len(rows), len(models), sharex="row", sharey="row", squeeze=False)
    for letter, model, axis in zip("abcdefgh", models, axes[0], strict=False):
        axis.set_title(f"{letter}  {model}", loc="left", fontweight="bold", pad=22)
    handles = {}
    for row, own in zip(rows, axes, strict=True):
        for panel, axis in zip(row.panels, own, strict=True):
            _draw(axis, panel, row.end_of_training)
            # Of a name that several panels have, the last: all look alike but for the colour.
            handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        own[0].set_ylabel(f"{row.title}\n\n{row.quantity}")
        own[0].set_ylim(_limits(row))
    for axis in axes[-1]:
        axis.set_xlabel("time")
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=len(handles), handlelength=1.5
    )
    return figure


def _draw(axis: Axes, panel: Panel, end_of_training: float) -> None:
    last = panel.times[-1]
    if last > end_of_training:
        axis.axvspan(end_of_training, last, color="0.93", linewidth=0, label="beyond training")
    axis.fill_between(
        panel.times,
        panel.lower,
        panel.upper,
        color=panel.colour,
        alpha=0.25,
        linewidth=0,
        label="90% interval",
    )
    axis.plot(panel.times, panel.mean, color=panel.colour, label="forecast")
    axis.plot(panel.times, panel.truth, color="black", linewidth=0.9, linestyle=":", label="truth")
    if panel.learnt is not None:
        axis.plot(
            *panel.learnt, "o", color="0.55", markersize=3.2, fillstyle="none", label="learnt from"
        )
    axis.plot(*panel.seen, "o", color="black", markersize=3.4, label="observed")
    axis.set_xlim(panel.times[0], last)
    axis.annotate(
        panel.note,
        (0, 1),
        xytext=(0, 2),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=7.5,
        color="0.3",
        va="bottom",
    )


def _limits(row: Row) -> tuple[float, float]:
    """Around what is true: forecasts may go anywhere."""
    values = np.concatenate([panel.truth for panel in row.panels])
    room = 0.3 * np.ptp(values)
    return float(values.min() - room), float(values.max() + room)
