"""The report of `lupi study`: each part with its question, an answer, a table and a figure."""

import io
from collections.abc import Callable, Sequence
from itertools import product
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
from lupi.experiments.study import LIKE_TRAINING, SAME, Part
from lupi.metrics import interval
from lupi.report.figures import STYLE
from lupi.report.standings import Ratio, Scores, brief
from lupi.report.write import data_uri

EVEN = [digit * 10.0**power for power in range(-6, 4) for digit in (1, 2, 5)]
"""Numbers that stand beside an axis."""

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
    more: list[list[str]]
    """Rows for who wants to know it all."""
    figure: Figure | None
    failures: list[str]
    searches: bool
    """Whether models are asked with the search, too."""


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
    answer, columns, rows, figure, more = kinds[part.name](part, results)
    failures = [f"{f.model} on {f.experiment}, seed {f.seed}: {f.reason}" for f in results.failures]
    searches = any(one.mode.endswith(REFINED) for one in results.records)
    return Shown(
        part.name,
        part.title,
        part.question,
        answer,
        columns,
        rows,
        more,
        figure,
        failures,
        searches,
    )


def _label(model: str, end: str) -> str:
    return contestant(model).label + (" + search" if end == REFINED else "")


class _Case(NamedTuple):
    """One model on one shift, against systems like those of training."""

    experiment: str
    shift: str
    model: str
    end: str
    crps: np.ndarray
    error: Ratio
    std: Ratio
    covers: float
    strangers: float | None

    @property
    def cells(self) -> list[str]:
        """A row of a table."""
        return [
            self.experiment,
            self.shift,
            _label(self.model, self.end),
            f"{self.crps.mean():.3g}",
            str(self.error),
            f"{self.std.mean:.3g}",
            f"{100 * self.covers:.0f} %",
            "" if self.strangers is None else f"{100 * self.strangers:.0f} %",
        ]

    @property
    def grows(self) -> bool:
        """Whether it gets at least half as unsure as it gets wrong."""
        return self.std.mean >= 0.5 * self.error.mean


CASES = (
    "trained on",
    "judged on",
    "model",
    "CRPS",
    "error, times [95 %]",
    "width, times",
    "90 % covers",
    "strangers",
)


def _cases(part: Part, results: Results) -> list[_Case]:
    found = []
    for name, experiment in part.experiments.items():
        scores = Scores(results, name)
        for (shift, what), (model, end) in product(experiment.shifts.items(), scores.entries()):
            mode, same = (shift_mode(one) + end for one in (shift, SAME))
            if not (scores.has(model, mode) and scores.has(model, same)):
                continue
            error, std = (
                Ratio.of(*(scores.values(model, one, metric) for one in (mode, same)))
                for metric in ("crps", "std")
            )
            told = scores.has(model, mode, "strangers")
            found.append(
                _Case(
                    experiment.title.split(",")[0],
                    what.title,
                    model,
                    end,
                    scores.values(model, mode),
                    error,
                    std,
                    float(scores.values(model, mode, "coverage_90").mean()),
                    float(scores.values(model, mode, "strangers").mean()) if told else None,
                )
            )
    return found


def _generalisation(part: Part, results: Results):
    cases = _cases(part, results)
    shifts: dict[tuple[str, str], list[_Case]] = {}
    for one in cases:
        shifts.setdefault((one.experiment, one.shift), []).append(one)
    best = [min(some, key=lambda one: np.log(one.crps).mean()) for some in shifts.values()]
    same = [one for one in cases if one.shift == LIKE_TRAINING.title]
    strange = [one for one in best if one.shift != LIKE_TRAINING.title]
    answer = []
    if strange:
        sure = [f"{one.experiment}, {one.shift}" for one in strange if not one.grows]
        answer.append(
            f"Of {len(strange)} kinds of strange systems or points, the best model gets at least "
            f"half as unsure as it gets wrong on {len(strange) - len(sure)}."
            + (f" It is too sure on: {'; '.join(sure)}." if sure else "")
        )
    answer += _on_strangers(cases, same) + _lupi_and_nopi(shifts)
    others = [one for one in cases if one not in same]
    figure = _growth_figure([(one.error.mean, one.std.mean, one.model, one.end) for one in others])
    more = [one.cells for one in cases]
    return answer, CASES, [one.cells for one in best], figure, more


def _on_strangers(cases: Sequence[_Case], same: Sequence[_Case]) -> list[str]:
    usual = [one.strangers for one in same if one.strangers is not None]
    told = {
        f"{one.experiment}, {one.shift}": one.strangers
        for one in cases
        if one not in same and one.strangers is not None
    }
    if not usual or not told:
        return []
    least, most = (
        f"{100 * told[name]:.0f} % ({name})"
        for name in (min(told, key=told.__getitem__), max(told, key=told.__getitem__))
    )
    return [
        f"{100 * float(np.mean(usual)):.0f} % of systems like those of training are called "
        f"strangers; of others from {least} to {most}."
    ]


def _lupi_and_nopi(shifts) -> list[str]:
    signs = []
    for some in shifts.values():
        by_model = {(one.model, one.end): one.crps for one in some}
        for end in (REFINED, ""):
            if ("lupi", end) in by_model and ("nopi", end) in by_model:
                signs.append(Ratio.of(by_model["lupi", end], by_model["nopi", end]).sign)
                break
    if not signs:
        return []
    return [
        f"Beyond chance, LUPI's error is lower than NoPI's on {signs.count(-1)} of {len(signs)} "
        f"and higher on {signs.count(1)}, those like training included."
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
    rows: list[list[str]] = []
    panels: dict[str, list] = {}
    signs: dict[str, dict[int, list[str]]] = {}
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
                signs.setdefault(title, {}).setdefault(ratio.sign, []).append(f"{size:.0f}")
                break
    words = {-1: "helps", 0: "makes no difference that these seeds tell", 1: "does harm"}
    answer = [
        f"{title}: what is privileged "
        + "; ".join(f"{words[s]} with {', '.join(own[s])} systems" for s in words if s in own)
        + "."
        for title, own in signs.items()
    ]
    columns = ("experiment", "systems", "model", "CRPS", "LUPI over NoPI [95 %]")
    figure = _lines_figure(panels, "training systems", "error (CRPS)")
    return answer, columns, rows, figure, []


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
        rows.append(
            [
                contestant(who.base).label,
                f"{part.values[model]:.0f}",
                str(Ratio.of(values, np.ones_like(values))),
            ]
        )
        widths = learnt.setdefault(who.base, [])
        widths += (
            [part.values[model]] if Ratio.of(values, np.ones_like(values)).mean < LEARNT else []
        )
    answer = [
        f"{contestant(base).label} learns something (an error below half the floor) "
        + (f"from width {min(widths):.0f} on." if widths else "at none of these widths.")
        for base, widths in learnt.items()
    ]
    columns = ("model", "width", "MSE over the floor [95 %]")
    figure = _lines_figure({"": panel}, "width of hidden layers", "squared error over the floor")
    return answer, columns, rows, figure, []


def _longer(part: Part, results: Results):
    rows, panel, answer = [], [], []
    ends: dict[str, list[np.ndarray]] = {}
    for name, times in part.values.items():
        scores = Scores(results, name)
        for model in scores.models:
            values = _over_floor(results, name, scores, model)
            panel.append((model, "", times, values))
            rows.append(
                [
                    contestant(model).label,
                    f"{times:.0f} x",
                    str(Ratio.of(values, np.ones_like(values))),
                ]
            )
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
    return answer, columns, rows, figure, []


def _functions(part: Part, results: Results):
    (name,) = part.experiments
    scores, rows, answer = Scores(results, name), [], []
    for model, end in scores.entries():
        values = scores.values(model, "test" + end)
        covers = scores.values(model, "test" + end, "coverage_90").mean()
        rows.append([_label(model, end), f"{values.mean():.3g}", f"{100 * covers:.0f} %"])
    pairs = [(other, end) for other in ("np", "np-lupi:shuffled") for end in ("", REFINED)]
    for other, end in pairs:
        if all(scores.has(model, "test" + end) for model in ("np-lupi", other)):
            values = (scores.values(model, "test" + end) for model in ("np-lupi", other))
            answer.append(
                f"{_label('np-lupi', end)} has {Ratio.of(*values)} times the error of "
                f"{_label(other, end)}."
            )
    return answer, ("model", "CRPS", "90 % covers"), rows, None, []


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
        ends = 0.7 * min(drawn), 1.5 * max(drawn)
        axis.set_ylim(*ends)
        ticks = [y for y in EVEN if ends[0] <= y <= ends[1]]
        axis.set_yticks(ticks, [brief(y) for y in ticks])
        axis.yaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel(ylabel)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))
    return figure
