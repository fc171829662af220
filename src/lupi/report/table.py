"""Table 1 from saved results, beside the paper's values."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from rich import box
from rich.table import Table

from lupi.evaluation import MODES
from lupi.experiments.experiment import Experiment
from lupi.experiments.paper import EXPERIMENTS
from lupi.experiments.results import Record, Results
from lupi.metrics import Estimate, estimate
from lupi.registry import MODELS
from lupi.report.paper import METRICS, exponent, printed, unit

FULL_METRICS = (
    "joint_log_likelihood",
    "crps",
    "coverage_50",
    "coverage_90",
    "coverage_95",
    "calibration_error",
)
FULL_HEADERS = (
    "log-likelihood",
    "CRPS",
    "coverage 50 %",
    "90 %",
    "95 %",
    "calib. error, pooled",
)
REGRET = {
    "regret_log_likelihood": "log-likelihood lost to the ideal observer",
    "crps_over_ideal": "CRPS over the ideal observer's",
    "recovered_error": "recovered value: error over variance",
    "recovered_coverage_90": "its 90 % interval covers",
}
"""What test rows have beside the others, where it was computed."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Cell(NamedTuple):
    """One metric of one row, in the printed unit."""

    text: str
    better: bool
    paper: str


class Row(NamedTuple):
    """One model in one setting."""

    label: str
    colour: str
    starred: bool
    cells: list[Cell]


class ExperimentTable(NamedTuple):
    """The part of Table 1 about one experiment."""

    experiment: str
    title: str
    headers: list[str]
    full_headers: list[str]
    rows: list[Row]
    full_rows: list[Row]
    floor: str
    seeds: int


def over_seeds(
    records: list[Record], experiment: str, model: str, mode: str, metric: str
) -> Estimate:
    """A metric's mean over seeds, and the standard error of that mean."""
    wanted = (experiment, model, mode)
    return estimate(
        [r.metrics[metric].mean for r in records if (r.experiment, r.model, r.mode) == wanted]
    )


def build_tables(
    results: Results, experiments: Mapping[str, Experiment] = EXPERIMENTS
) -> list[ExperimentTable]:
    """One table for each of the experiments that the results hold."""
    present = {record.experiment for record in results.records}
    return [
        _build_table(results, name, experiment.title)
        for name, experiment in experiments.items()
        if name in present
    ]


def _build_table(results: Results, experiment: str, title: str) -> ExperimentTable:
    records = [record for record in results.records if record.experiment == experiment]
    seeds = set.intersection(
        *({r.seed for r in records if r.model == m} for m in {r.model for r in records})
    )
    # Only seeds that every model has: a comparison of other means would not be paired.
    records = [record for record in records if record.seed in seeds]
    rows, full_rows = [], []
    more = [metric for metric in REGRET if any(metric in r.metrics for r in records)]
    for mode in MODES:
        models = [m for m in MODELS if any((r.model, r.mode) == (m, mode) for r in records)]
        values = {
            (model, metric): over_seeds(records, experiment, model, mode, metric)
            for model in models
            for metric in METRICS + FULL_METRICS
        }
        for model in models:
            cells = []
            for metric in METRICS:
                others = [values[m, metric] for m in models if m != model]
                paper = printed(experiment, model, mode, metric)
                cells.append(
                    Cell(
                        text=_show(values[model, metric], unit(experiment, metric)),
                        # As in the paper, sharpness is not a contest.
                        better=metric != "spread_std"
                        and bool(others)
                        and all(_is_below(values[model, metric], other) for other in others),
                        paper="" if paper is None else _show(paper, 1.0),
                    )
                )
            starred = mode == "train"
            label = MODELS[model].label + ("*" if starred else "")
            rows.append(Row(label, MODELS[model].colour, starred, cells))
            full = [Cell(_show(values[model, m], 1.0, 3), False, "") for m in FULL_METRICS]
            for metric in more:
                there = all(
                    metric in r.metrics for r in records if (r.model, r.mode) == (model, mode)
                )
                found = over_seeds(records, experiment, model, mode, metric) if there else None
                full.append(Cell("" if found is None else _show(found, 1.0, 3), False, ""))
            full_rows.append(Row(label, MODELS[model].colour, starred, full))
    headers = [
        f"MSE ({_power(exponent(experiment, 'mse'))})",
        "Calib. error",
        f"Sharp. ({_power(exponent(experiment, 'spread_std'))})",
    ]
    floor = estimate([floor.mse.mean for floor in results.floors if floor.experiment == experiment])
    return ExperimentTable(
        experiment=experiment,
        title=title,
        headers=headers,
        full_headers=[*FULL_HEADERS, *(REGRET[metric] for metric in more)],
        rows=rows,
        full_rows=full_rows,
        floor=_show(floor, unit(experiment, "mse")),
        seeds=len(seeds),
    )


def _is_below(mine: Estimate, other: Estimate) -> bool:
    """Whether it is smaller by more than the standard errors of both."""
    if mine.stderr is None or other.stderr is None:
        return False
    return mine.mean + mine.stderr < other.mean - other.stderr


def to_markdown(tables: list[ExperimentTable], departures: str) -> str:
    """The content of `table.md`."""
    lines = [
        "# Table 1, reproduced",
        "",
        "Ours is the mean over seeds ± its standard error; the paper's is one training run ± the "
        "standard error over 500 test systems. Rows with * are the training setting: the full "
        "target set and, for LUPI, the privileged information. Lower is better; bold is what is "
        "better than all others by more than both standard errors (sharpness is not a contest). "
        "The floor is the error of the mean training trajectory, which no model that has learned "
        "anything should exceed.",
        "",
        departures,
    ]
    for table in tables:
        header = " | ".join(f"{name} | paper" for name in table.headers)
        lines += ["", f"## {table.title}", "", f"| Model | {header} |", "|---" * 7 + "|"]
        for row in table.rows:
            cells = [f"{_bold(cell)} | {cell.paper}" for cell in row.cells]
            lines.append(f"| {row.label} | {' | '.join(cells)} |")
        lines += ["", f"Seeds: {table.seeds}. Floor of the MSE: {table.floor}."]
    lines += [
        "",
        "# The full predictive distribution",
        "",
        "The mixture over samples of z of the decoded Normals: log-likelihood of a whole series "
        "per value (higher is better), CRPS (lower is better), how often the central 50, 90 and "
        "95 % intervals cover what is observed, and the calibration error of all systems pooled.",
    ]
    for table in tables:
        names, number = " | ".join(table.full_headers), len(table.full_headers) + 1
        lines += ["", f"## {table.title}", "", f"| Model | {names} |", "|---" * number + "|"]
        for row in table.full_rows:
            lines.append(f"| {row.label} | {' | '.join(cell.text for cell in row.cells)} |")
    return "\n".join(lines) + "\n"


def to_terminal(table: ExperimentTable) -> Table:
    """One experiment's part of Table 1, for people."""
    seeds = "1 seed" if table.seeds == 1 else f"mean of {table.seeds} seeds ± standard error"
    shown = Table(
        title=table.title,
        caption=f"{seeds}; floor of the MSE: {table.floor}",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    shown.add_column("Model", no_wrap=True, min_width=5)
    for name in table.headers:
        shown.add_column(name, justify="right", no_wrap=True)
        shown.add_column("paper", justify="right", style="dim", no_wrap=True)
    for number, row in enumerate(table.rows):
        values = []
        for cell in row.cells:
            # The paper's standard errors are left to table.md: this fits 80 columns.
            paper = cell.paper.split(" ")[0]
            values += [f"[bold]{cell.text}[/]" if cell.better else cell.text, paper]
        following = table.rows[number + 1 : number + 2]
        shown.add_row(
            row.label, *values, end_section=any(r.starred != row.starred for r in following)
        )
    return shown


def _show(value: Estimate, unit: float, digits: int = 2) -> str:
    """In a unit, with so many digits behind the point, and more where these would all be 0.

    What would need more than four is shown with a power of ten.
    """
    mean = value.mean / unit
    if 0 < abs(mean) < 1e-3:
        small = math.floor(math.log10(abs(mean)))
        text = _show(value, unit * 10.0**small, 1)
        return f"{text if value.stderr is None else f'({text})'}·{_power(small)}"
    if 0 < abs(mean) < 0.5 * 10.0 ** (1 - digits):
        digits = 1 - math.floor(math.log10(abs(mean)))
    text = f"{mean:.{digits}f}"
    return text if value.stderr is None else f"{text} ± {value.stderr / unit:.{digits}f}"


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(SUPERSCRIPT)


def _bold(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.better else cell.text
