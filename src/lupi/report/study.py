"""The report of `lupi study`: each part with its question, an answer, a table and a figure."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from lupi import __version__
from lupi._machinery.files import write_atomically
from lupi.experiments.contestants import contestant
from lupi.experiments.modes import REFINED, shift_mode
from lupi.experiments.results import Results
from lupi.experiments.study import SAME, Part
from lupi.metrics import interval
from lupi.report.figures import STYLE
from lupi.report.standings import Ratio, Scores
from lupi.report.write import data_uri

LEARNT = 0.5
"""Of the floor: a model whose squared error is below has learnt something."""


class Shown(NamedTuple):
    """One part, as it is shown."""

    name: str
    title: str
    question: str
    answer: list[str]
    columns: tuple[str, ...]
    rows: list[list[str]]
    figure: Figure | None
    failures: list[str]


def write_study(out: Path, found: Sequence[tuple[Part, Results]]) -> list[Shown]:
    """Write `figures/` and `report.html` from the results of each part."""
    with style.context(STYLE):
        shown = [show_part(part, results) for part, results in found]
        figures = {}
        for one in (one for one in shown if one.figure is not None):
            buffer = io.BytesIO()
            one.figure.savefig(buffer, format="png")  # pyright: ignore[reportOptionalMemberAccess]
            path = out / "figures" / f"{one.name}.png"
            write_atomically(path, buffer.getvalue())
            figures[one.name] = data_uri(path)
    environment = Environment(
        loader=PackageLoader("lupi.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    page = environment.get_template("study.html").render(
        parts=shown, figures=figures, version=__version__
    )
    write_atomically(out / "report.html", page)
    return shown


def show_part(part: Part, results: Results) -> Shown:
    """What there is to say of one part."""
    kinds: dict[str, Callable] = {
        "generalisation": _generalisation,
        "samples": _samples,
        "width": _width,
        "longer": _longer,
        "functions": _functions,
    }
    answer, columns, rows, figure = kinds[part.name](part, results)
    failures = [f"{f.model} on {f.experiment}, seed {f.seed}: {f.reason}" for f in results.failures]
    return Shown(part.name, part.title, part.question, answer, columns, rows, figure, failures)


def _label(model: str, end: str) -> str:
    return contestant(model).label + (" + search" if end == REFINED else "")


def _generalisation(part: Part, results: Results):
    rows, points, answer = [], [], []
    for name, experiment in part.experiments.items():
        scores = Scores(results, name)
        entries = scores.entries()
        for shift, what in experiment.shifts.items():
            for model, end in entries:
                mode, same = (shift_mode(one) + end for one in (shift, SAME))
                if not (scores.has(model, mode) and scores.has(model, same)):
                    continue
                error = Ratio.of(scores.values(model, mode), scores.values(model, same))
                std = Ratio.of(*(scores.values(model, one, "std") for one in (mode, same)))
                covers = scores.values(model, mode, "coverage_90").mean()
                told = scores.has(model, mode, "strangers")
                strangers = scores.values(model, mode, "strangers").mean() if told else None
                rows.append(
                    [
                        experiment.title.split(",")[0],
                        what.title,
                        _label(model, end),
                        f"{scores.values(model, mode).mean():.3g}",
                        "" if shift == SAME else str(error),
                        "" if shift == SAME else f"{std.mean:.3g}",
                        f"{100 * covers:.0f} %",
                        "" if strangers is None else f"{100 * strangers:.0f} %",
                    ]
                )
                if shift != SAME:
                    points.append((error.mean, std.mean, model, end))
            answer += _on_shift(scores, experiment.title, shift, what.title, entries)
    columns = (
        "trained on",
        "judged on",
        "model",
        "CRPS",
        "times as on the same [95 %]",
        "width, times",
        "90 % covers",
        "strangers",
    )
    return answer, columns, rows, _growth_figure(points)


def _on_shift(scores: Scores, title: str, shift: str, what: str, entries) -> list[str]:
    """One sentence: of the best there, what happens to its error, width and coverage."""
    mode = shift_mode(shift)
    there = [
        (model, end)
        for model, end in entries
        if scores.has(model, mode + end) and scores.has(model, shift_mode(SAME) + end)
    ]
    if shift == SAME or not there:
        return []
    model, end = min(there, key=lambda one: np.log(scores.values(one[0], mode + one[1])).mean())
    error, std = (
        Ratio.of(*(scores.values(model, shift_mode(s) + end, metric) for s in (shift, SAME)))
        for metric in ("crps", "std")
    )
    covers = scores.values(model, mode + end, "coverage_90").mean()
    grows = "grows with it" if std.mean > 0.5 * error.mean else "does not grow as much"
    if error.mean < 1.2:
        grows = "stays" if std.mean < 1.5 else "grows"
    return [
        f"{title.split(',')[0]}; {what}: {_label(model, end)} is best, with {error.mean:.3g} times "
        f"the error on systems like those of training; its uncertainty {grows} ({std.mean:.3g} "
        f"times), and its 90 % intervals cover {100 * covers:.0f} %."
    ]


def _growth_figure(points) -> Figure | None:
    if not points:
        return None
    figure = Figure(figsize=(6.4, 4.6))
    axis = figure.subplots()
    drawn = set()
    for error, std, model, end in points:
        label = _label(model, end)
        axis.plot(
            error,
            std,
            "o"
            if end == REFINED or not any(e == REFINED for *_, m, e in points if m == model)
            else "x",
            color=contestant(model).colour,
            label=None if label in drawn else label,
        )
        drawn.add(label)
    ends = [0.5, max(max(point[:2]) for point in points) * 1.3]
    axis.plot(ends, ends, color="0.6", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="error, times as on systems like those of training")
    axis.set_ylabel("predicted width, times")
    axis.legend(loc="upper left")
    return figure


def _samples(part: Part, results: Results):
    rows, answer = [], []
    panels: dict[str, list] = {}
    for name, size in part.values.items():
        scores = Scores(results, name)
        title = part.experiments[name].title.split(",")[0]
        for model, end in scores.entries():
            values = scores.values(model, "test" + end)
            panels.setdefault(title, []).append((model, end, size, values))
            against = ""
            if model == "lupi" and scores.has("nopi", "test" + end):
                against = str(Ratio.of(values, scores.values("nopi", "test" + end)))
            rows.append([title, f"{size:.0f}", _label(model, end), f"{values.mean():.3g}", against])
        for end in (REFINED, ""):
            if scores.has("lupi", "test" + end) and scores.has("nopi", "test" + end):
                ratio = Ratio.of(*(scores.values(m, "test" + end) for m in ("lupi", "nopi")))
                word = {-1: "helps", 0: "makes no difference told", 1: "does harm"}[ratio.sign]
                answer.append(
                    f"{title}, {size:.0f} systems: what is privileged {word}: LUPI's error is "
                    f"{ratio} times NoPI's."
                )
                break
    columns = ("experiment", "systems", "model", "CRPS", "LUPI over NoPI [95 %]")
    figure = _lines_figure(panels, "training systems", "error (CRPS)")
    return answer, columns, rows, figure


def _over_floor(results: Results, experiment: str, scores: Scores, model: str) -> np.ndarray:
    floors = {f.seed: f.mse.mean for f in results.floors if f.experiment == experiment}
    return scores.values(model, "test", "mse") / [floors[seed] for seed in scores.seeds]


def _width(part: Part, results: Results):
    (name,) = part.experiments
    scores, rows, panel = Scores(results, name), [], []
    learnt: dict[str, list[float]] = {}
    for model in scores.models:
        who, values = contestant(model), _over_floor(results, name, scores, model)
        panel.append((who.base, "", part.values[model], values))
        rows.append([contestant(who.base).label, f"{part.values[model]:.0f}", _share(values)])
        if np.mean(values) < LEARNT:
            learnt.setdefault(who.base, []).append(part.values[model])
    answer = [
        f"{contestant(base).label} learns something (an error below half the floor) from width "
        f"{min(widths):.0f} on."
        for base, widths in learnt.items()
    ] or ["None of the widths learnt anything here: the error stays above half the floor."]
    columns = ("model", "width", "MSE over the floor [95 %]")
    figure = _lines_figure({"": panel}, "width of hidden layers", "squared error over the floor")
    return answer, columns, rows, figure


def _longer(part: Part, results: Results):
    rows, panel, answer = [], [], []
    ends: dict[str, list[np.ndarray]] = {}
    for name, times in part.values.items():
        scores = Scores(results, name)
        for model in scores.models:
            values = _over_floor(results, name, scores, model)
            panel.append((model, "", times, values))
            rows.append([contestant(model).label, f"{times:.0f} x", _share(values)])
            ends.setdefault(model, []).append(values)
    for model, found in ends.items():
        if len(found) > 1 and len(found[0]) == len(found[-1]):
            ratio = Ratio.of(found[-1], found[0])
            word = {-1: "is lower", 0: "is no different beyond chance", 1: "is higher"}[ratio.sign]
            longest = max(part.values.values())
            answer.append(
                f"{contestant(model).label}: after {longest:.0f} times as long the error {word}: "
                f"{ratio} times that of the paper's training."
            )
    columns = ("model", "training", "MSE over the floor [95 %]")
    figure = _lines_figure(
        {"": panel}, "training, times the paper's", "squared error over the floor"
    )
    return answer, columns, rows, figure


def _functions(part: Part, results: Results):
    (name,) = part.experiments
    scores, rows, answer = Scores(results, name), [], []
    for model, end in scores.entries():
        values = scores.values(model, "test" + end)
        covers = scores.values(model, "test" + end, "coverage_90").mean()
        rows.append([_label(model, end), f"{values.mean():.3g}", f"{100 * covers:.0f} %"])
    for other in ("np", "np-lupi:shuffled"):
        if scores.has("np-lupi", "test") and scores.has(other, "test"):
            ratio = Ratio.of(scores.values("np-lupi", "test"), scores.values(other, "test"))
            answer.append(
                f"{_label('np-lupi', '')} has {ratio} times the error of {_label(other, '')}."
            )
    return answer, ("model", "CRPS", "90 % covers"), rows, None


def _share(values: np.ndarray) -> str:
    mean, lower, upper = interval(values)
    return f"{mean:.3g}" + ("" if lower is None else f" [{lower:.3g}, {upper:.3g}]")


def _lines_figure(panels: dict[str, list], xlabel: str, ylabel: str) -> Figure | None:
    """A panel for each title: lines of models against a number, with intervals over seeds."""
    panels = {title: points for title, points in panels.items() if points}
    if not panels:
        return None
    figure = Figure(figsize=(1.2 + 3.4 * len(panels), 3.9))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, points) in zip(axes, panels.items(), strict=True):
        lines = list(dict.fromkeys((model, end) for model, end, _, _ in points))
        for model, end in lines:
            own = sorted(
                ((x, values) for m, e, x, values in points if (m, e) == (model, end)),
                key=lambda point: point[0],
            )
            at = np.array([x for x, _ in own])
            found = [interval(np.log(values)) for _, values in own]
            dashed = end == "" and (model, REFINED) in lines
            axis.plot(
                at,
                np.exp([one.mean for one in found]),
                color=contestant(model).colour,
                linestyle=(0, (4, 1.5)) if dashed else "-",
                marker=".",
                label=_label(model, end),
            )
            if all(one.lower is not None for one in found):
                lower, upper = np.exp(np.array([one[1:] for one in found], float)).T
                axis.fill_between(
                    at, lower, upper, color=contestant(model).colour, alpha=0.12, linewidth=0
                )
        places = sorted({x for _, _, x, _ in points})
        axis.set(xscale="log", yscale="log", title=title, xlabel=xlabel)
        axis.set_xticks(places, [f"{x:g}" for x in places])
        axis.xaxis.set_minor_formatter(NullFormatter())
        drawn = [y for line in axis.lines for y in np.asarray(line.get_ydata())]
        axis.set_ylim(0.7 * min(drawn), 1.5 * max(drawn))
    axes[0].set_ylabel(ylabel)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))
    return figure
