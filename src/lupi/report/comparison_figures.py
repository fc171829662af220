"""The figures of a comparison: who is best, and with how many points, how far ahead, how honest."""

from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, PercentFormatter

from lupi.experiments.modes import REFINED, beyond_mode, points_mode
from lupi.experiments.results import Results, RunFolder
from lupi.metrics import interval
from lupi.report.standings import Scores, Standing

MARKERS = ".x+^sd"
"""Of privileged values, in their order."""

MOST_LINES = 12
"""Of one panel: the best of them, where there are more."""


class Line(NamedTuple):
    """How one contestant is drawn."""

    model: str
    end: str
    label: str
    colour: str
    dashed: bool
    """Its encoder alone, where it is drawn with the search too."""

    @property
    def style(self) -> dict:
        """For Matplotlib."""
        dashes = (0, (4, 1.5)) if self.dashed else "-"
        return {"color": self.colour, "linestyle": dashes, "label": self.label}


def lines_of(order: Sequence[Standing]) -> list[Line]:
    """Everyone who is drawn."""
    searching = {one.who for one in order if one.end == REFINED}
    return [
        Line(
            one.who.name,
            one.end,
            one.label,
            one.who.colour,
            dashed=one.end != REFINED and one.who in searching,
        )
        for one in order[:MOST_LINES]
    ]


def draw_ranking(order: Sequence[Standing]) -> Figure:
    """The error of each over that of the best, with its interval."""
    figure = Figure(figsize=(8.4, 0.9 + 0.29 * len(order)))
    axis = figure.subplots()
    axis.axvline(1.0, color="0.6", linewidth=0.8)
    for place, one in enumerate(order):
        ratio, colour = one.behind, one.who.colour
        if ratio.lower is not None and ratio.upper is not None:
            axis.plot([ratio.lower, ratio.upper], [place, place], color=colour, linewidth=2.2)
        axis.plot(ratio.mean, place, "o" if one.competes else "D", color=colour, markersize=5)
    axis.set_yticks(range(len(order)), [one.label for one in order])
    axis.invert_yaxis()
    _log_ratio_axis(axis, [one.behind.mean for one in order])
    axis.set_xlabel("error (CRPS) over that of the best: mean and 95 % interval over paired seeds")
    axis.grid(axis="x", color="0.92")
    axis.set_axisbelow(True)
    return figure


def _log_ratio_axis(axis: Axes, means: Sequence[float]) -> None:
    axis.set_xscale("log")
    low, high = min(0.8, *means) * 0.8, max(1.5, *means) * 1.3
    axis.set_xlim(low, high)
    ticks = [
        t for t in (0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100, 300, 1000) if low < t < high
    ]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.xaxis.set_minor_formatter(NullFormatter())


def draw_curves(
    results: Results, folders: Sequence[RunFolder], experiment: str, order: Sequence[Standing]
) -> Figure:
    """Error and coverage by the number of points and by the time beyond the last, calibration, and
    privileged values as they were recovered."""
    scores, lines = Scores(results, experiment), lines_of(order)
    figure = Figure(figsize=(11.5, 6.9))
    axes = figure.subplots(2, 3)
    points, edges = scores.numbers("points"), scores.numbers("beyond")
    middles = [(above + most) / 2 for above, most in edges]
    modes = [points_mode(int(number)) for (number,) in points]
    _draw_line_panels(list(axes[:, 0]), scores, lines, [n for (n,) in points], modes)
    axes[1, 0].set_xlabel("points seen")
    for axis in axes[:, 0]:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    beyond = [beyond_mode(above, most) for above, most in edges]
    _draw_line_panels(list(axes[:, 1]), scores, lines, middles, beyond)
    axes[1, 1].set_xlabel("time beyond the last point, in horizons")
    arrays = {
        (f.model, f.seed): f.predictions()
        for f in folders
        if f.experiment == experiment and f.seed in scores.seeds
    }
    _draw_calibration(axes[0, 2], lines, arrays)
    _draw_recovered(axes[1, 2], lines, arrays)
    for letter, axis in zip("abcdef", axes.flat, strict=True):
        axis.set_title(letter, loc="left", fontweight="bold")
    handles, labels = axes[0, 2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)))
    return figure


def _draw_line_panels(
    axes: Sequence[Axes], scores: Scores, lines: Sequence[Line], places: list, modes: list
) -> None:
    """Error above, coverage below, each with intervals over seeds."""
    for axis, metric in zip(axes, ("crps", "coverage_90"), strict=True):
        for line in lines:
            there = [i for i, m in enumerate(modes) if scores.has(line.model, m + line.end, metric)]
            if not there:
                continue
            values = [scores.values(line.model, modes[i] + line.end, metric) for i in there]
            at = np.array(places, float)[there]
            if metric == "crps":
                found = [interval(np.log(one)) for one in values]
                axis.plot(at, np.exp([one.mean for one in found]), **line.style)
                if found[0].lower is not None:
                    lower, upper = np.exp(np.array([one[1:] for one in found], float)).T
                    axis.fill_between(at, lower, upper, color=line.colour, alpha=0.1, linewidth=0)
            else:
                axis.plot(at, [one.mean() for one in values], **line.style)
    axes[0].set_yscale("log")
    drawn = [y for drawn in axes[0].lines for y in np.asarray(drawn.get_ydata()) if y > 0]
    if drawn:  # the intervals of few seeds would flatten everything
        axes[0].set_ylim(0.7 * min(drawn), 1.4 * max(drawn))
    axes[0].set_ylabel("error (CRPS)")
    axes[1].axhline(0.9, color="0.6", linewidth=0.8)
    axes[1].set_ylabel("90 % interval covers")
    axes[1].set_ylim(0, 1.02)
    axes[1].yaxis.set_major_formatter(PercentFormatter(1.0))


def _draw_calibration(axis: Axes, lines: Sequence[Line], arrays) -> None:
    axis.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    for line in lines:
        name = f"test{line.end}_curve"
        curves = [a[name] for (model, _), a in arrays.items() if model == line.model and name in a]
        if curves:
            share = np.append(0.0, np.mean(curves, axis=0))
            axis.plot(np.linspace(0, 1, share.size), share, **line.style)
    axis.set(xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1))


def _draw_recovered(axis: Axes, lines: Sequence[Line], arrays) -> None:
    """Privileged values of every test system of the first seed, in standard units, each value with
    a marker of its own."""
    number = 0
    for line in lines:
        name = f"test{line.end}_recovered"
        seeds = sorted(seed for model, seed in arrays if model == line.model)
        if not seeds or name not in arrays[line.model, seeds[0]]:
            continue
        found = arrays[line.model, seeds[0]]
        number = found["privileged"].shape[1]
        for value, marker in zip(range(number), cycle(MARKERS)):
            truth, recovered = found["privileged"][:, value], found[name][:, value]
            axis.plot(truth, recovered, marker, color=line.colour, markersize=3, alpha=0.6)
    if number:
        if number > 1:
            grey = {"color": "0.4", "linestyle": "", "markersize": 4}
            for value, marker in zip(range(number), cycle(MARKERS)):
                axis.plot([], [], marker=marker, label=f"value {value + 1}", **grey)
            axis.legend(loc="upper left", fontsize="x-small")
        low, high = axis.get_xlim()
        axis.plot([low, high], [low, high], color="0.6", linewidth=0.8, zorder=0)
        axis.set(xlabel="privileged value", ylabel="recovered from the points", xlim=(low, high))
    else:
        axis.text(0.5, 0.5, "nobody recovers\nprivileged values", ha="center", va="center")
        axis.set_axis_off()
