"""The report of `lupi compare`: who forecasts best, and whether privileged information helps."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib import style
from rich import box
from rich.table import Table

from lupi._machinery.files import write_atomically
from lupi.experiments.experiment import Experiment
from lupi.experiments.modes import beyond_mode, points_mode
from lupi.experiments.paper import BUILT_IN
from lupi.experiments.results import Results, finished_folders, read_results
from lupi.metrics import Estimate
from lupi.report.answer import answers
from lupi.report.comparison_figures import draw_curves, draw_ranking
from lupi.report.figures import STYLE
from lupi.report.standings import Help, Ratio, Scores, Standing, brief, helps, standings
from lupi.report.write import data_uri


class Compared(NamedTuple):
    """One experiment of a comparison, as it is shown."""

    name: str
    title: str
    order: list[Standing]
    answers: list[str]
    helps: list[Help]
    curves: "list[Curve]"
    seeds: int


class Curve(NamedTuple):
    """Error and coverage of everyone where contexts are of one kind."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    """One for each contestant, in their order."""


def write_comparison(out: Path, experiments: Mapping[str, Experiment]) -> list[Compared]:
    """Write `comparison.md`, `figures/` and `report.html` from the results saved in `out`.

    Beside the experiments given, of all built-in ones that the folder has.
    """
    results, experiments = read_results(out), BUILT_IN | dict(experiments)
    compared = compare_results(results, experiments)
    names = [*results.settings["models"], *results.settings["rivals"]]
    folders = finished_folders(out, experiments, names)
    figures: dict[str, str] = {}
    with style.context(STYLE):
        for one in (one for one in compared if one.order):
            drawn = {
                "ranking": draw_ranking(one.order),
                "curves": draw_curves(results, folders, one.name, one.order),
            }
            for kind, figure in drawn.items():
                buffer = io.BytesIO()
                figure.savefig(buffer, format="png")
                path = out / "figures" / f"{one.name}-{kind}.png"
                write_atomically(path, buffer.getvalue())
                figures[f"{one.name}-{kind}"] = data_uri(path)
    write_atomically(out / "comparison.md", to_markdown(compared, results))
    write_atomically(out / "report.html", _render(results, compared, figures))
    return compared


def compare_results(results: Results, experiments: Mapping[str, Experiment]) -> list[Compared]:
    """Everything that is said of each experiment that has results or failures."""
    there = {one.experiment for one in (*results.records, *results.failures)}
    compared = []
    for name, experiment in experiments.items():
        if name in there:
            order, scores = standings(results, name), Scores(results, name)
            compared.append(
                Compared(
                    name=name,
                    title=experiment.title,
                    order=order,
                    answers=answers(results, name, experiment.privileged),
                    helps=helps(results, name),
                    curves=_curves(scores, order),
                    seeds=len(scores.seeds),
                )
            )
    return compared


def _curves(scores: Scores, order: list[Standing]) -> list[Curve]:
    """By the number of points and by the time beyond the last, as far as it was asked."""
    points, beyond = scores.numbers("points"), scores.numbers("beyond")
    kinds = {
        "by the number of points seen": {f"{n:g}": points_mode(int(n)) for (n,) in points},
        "from points of the first third, by the time beyond the last, in horizons": {
            f"{above:g} to {most:g}": beyond_mode(above, most) for above, most in beyond
        },
    }
    return [
        Curve(
            f"Error (CRPS) and what the 90 % interval covers, {kind}",
            ("model", *modes),
            [[s.label, *(_at(scores, s, mode + s.end) for mode in modes.values())] for s in order],
        )
        for kind, modes in kinds.items()
        if modes
    ]


def _at(scores: Scores, one: Standing, mode: str) -> str:
    """Error and coverage in one mode, over seeds."""
    if not all(scores.has(one.who.name, mode, name) for name in ("crps", "coverage_90")):
        return ""
    error, covers = (
        scores.values(one.who.name, mode, name).mean() for name in ("crps", "coverage_90")
    )
    return f"{error:.3g}, {100 * covers:.0f} %"


COLUMNS = (
    "model",
    "error (CRPS)",
    "over best [95 %]",
    "over ideal [95 %]",
    "90 % covers",
    "recovered, R²",
    "90 % covers recovered",
)


NEARLY_ALL = 0.005
"""Of the variance lacking, below which two digits would say 1."""


def row(one: Standing) -> list[str]:
    """What tables show of one contestant; `COLUMNS`."""
    return [
        one.label,
        show(one.metrics["crps"]),
        str(one.behind),
        "" if one.over_ideal is None else str(one.over_ideal),
        _percent(one, "coverage_90"),
        _recovered(one),
        _percent(one, "recovered_coverage_90"),
    ]


def _percent(one: Standing, name: str) -> str:
    return f"{100 * one.metrics[name].mean:.0f} %" if name in one.metrics else ""


def _recovered(one: Standing) -> str:
    """The share of the variance of privileged values that is told, in the mean over them; of
    nearly all of it what is lacking."""
    found = one.metrics.get("recovered_error")
    if found is None:
        return ""
    return f"1 - {found.mean:.1g}" if 0 < found.mean < NEARLY_ALL else f"{1 - found.mean:.2f}"


def more(one: Standing) -> list[str]:
    """The rest: RMSE, log-likelihood, calibration, what is lost to the ideal, size and time."""
    metrics = one.metrics
    lost = one.lost_to_ideal
    return [
        one.label,
        show(metrics["rmse"]),
        show(metrics["log_likelihood"]) if "log_likelihood" in metrics else "",
        "" if lost is None else f"{lost.mean:.2f}{_ends(lost.lower, lost.upper)}",
        _percent(one, "coverage_50"),
        show(metrics["calibration_error"]),
        _parameters(one),
        _time(one.seconds["train"]),
        _time(one.seconds["predict"]) if "predict" in one.seconds else "",
    ]


MORE_COLUMNS = (
    "model",
    "RMSE",
    "log-likelihood",
    "lost to the ideal",
    "50 % covers",
    "calib. error",
    "parameters",
    "training",
    "one forecast",
)


def _parameters(one: Standing) -> str:
    """At prediction and, where they are more, in training."""
    if "parameters" not in one.metrics:
        return ""
    numbers = [one.metrics[name].mean for name in ("parameters", "training_parameters")]
    return " of ".join(f"{number:,.0f}" for number in dict.fromkeys(numbers))


def _ends(lower: float | None, upper: float | None) -> str:
    return "" if lower is None or upper is None else f" [{lower:.2f}, {upper:.2f}]"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return "< 1 ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.0f} s"


def show(value: Estimate) -> str:
    """A mean and its standard error over seeds, with digits that tell."""
    text = f"{value.mean:.3g}"
    return text if value.stderr is None else f"{text} ± {value.stderr:.1g}"


def help_row(one: Help) -> list[str]:
    """One line of the table of what privileged values are worth."""
    told = "nothing" if one.other.privileged == "true" else one.other.label
    against = one.other.label if told == "nothing" else told
    return [
        one.who.label + (" + search" if one.end else ""),
        against,
        str(one.ratio),
        f"{one.seeds_in_favour} of {one.seeds}",
        ("no difference told", "worse", "better")[one.ratio.sign],
    ]


HELP_COLUMNS = ("told the true values", "against", "error ratio [95 %]", "seeds", "")


def to_terminal(one: Compared) -> Table:
    """The ranking of one experiment, for people."""
    seeds = "1 seed" if one.seeds == 1 else f"{one.seeds} paired seeds"
    shown = Table(
        title=one.title,
        caption=f"{seeds}; ideal: over it; 90 %: the interval covers; R²: recovered values",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    # Shorter than in the report: this fits 80 columns. Only a long name is folded; of a number that
    # is cut nothing is left.
    headers = ("model", "CRPS", "over best [95 %]", "ideal", "90 %", "R²")
    rows = [
        (
            standing.label,
            brief(standing.metrics["crps"].mean),
            _brief_ratio(standing.behind),
            "" if standing.over_ideal is None else brief(standing.over_ideal.mean),
            _percent(standing, "coverage_90"),
            _recovered(standing),
        )
        for standing in one.order
    ]
    shown_columns = [i for i in range(len(headers)) if any(cells[i] for cells in rows)]
    for i in shown_columns:
        how: dict[str, Any] = (
            {"overflow": "fold"} if i == 0 else {"justify": "right", "no_wrap": True}
        )
        shown.add_column(headers[i], **how)
    for standing, cells in zip(one.order, rows, strict=True):
        shown.add_row(*(cells[i] for i in shown_columns), style="" if standing.competes else "dim")
    return shown


def _brief_ratio(ratio: Ratio) -> str:
    text = brief(ratio.mean)
    if ratio.lower is None or ratio.upper is None:
        return text
    # On which side of 1 they lie must be seen.
    ends = (brief(end, 3 if 0.5 < end < 2 else 2) for end in (ratio.lower, ratio.upper))
    return f"{text} [{', '.join(ends)}]"


def to_markdown(compared: list[Compared], results: Results) -> str:
    """The content of `comparison.md`."""
    lines = ["# Comparison", ""]
    for one in compared:
        lines += [f"## {one.title}", "", *one.answers, ""]
        for title, names, rows in (
            ("", COLUMNS, [row(s) for s in one.order]),
            ("", MORE_COLUMNS, [more(s) for s in one.order]),
            ("", HELP_COLUMNS, [help_row(h) for h in one.helps]),
            *one.curves,
        ):
            if rows:
                lines += [f"{title}:", ""] if title else []
                lines += [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
                lines += [f"| {' | '.join(cells)} |" for cells in rows] + [""]
    lines += [
        f"Failed: {f.experiment}, {f.model}, seed {f.seed}: {f.reason}" for f in results.failures
    ]
    return "\n".join(lines).rstrip() + "\n"


def _render(results: Results, compared: list[Compared], figures: dict[str, str]) -> str:
    environment = Environment(
        loader=PackageLoader("lupi.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    shown: list[dict[str, Any]] = [
        {
            "name": one.name,
            "title": one.title,
            "answers": one.answers,
            "seeds": one.seeds,
            "rows": [(s, row(s)) for s in one.order],
            "more": [(s, more(s)) for s in one.order],
            "curves": [
                (curve, list(zip(one.order, curve.rows, strict=True))) for curve in one.curves
            ],
            "helps": [(h, help_row(h)) for h in one.helps],
            "ideal": any(s.over_ideal is not None for s in one.order),
        }
        for one in compared
    ]
    who = {s.who.name: s.who for one in compared for s in one.order}
    return environment.get_template("comparison.html").render(
        compared=shown,
        failures=results.failures,
        columns=COLUMNS,
        more_columns=MORE_COLUMNS,
        help_columns=HELP_COLUMNS,
        contestants=list(who.values()),
        figures=figures,
        settings=json.dumps(results.settings, indent=1),
        version=results.settings["version"],
    )
