"""Table 1 from saved results, beside the paper's values."""

from typing import NamedTuple

from rich import box
from rich.table import Table

from lupi.experiments.results import Record, Results
from lupi.metrics import Estimate, estimate
from lupi.report.paper import LABELS, MSE_EXPONENT, SHARPNESS_EXPONENT, TABLE_1, TITLES, unit

METRICS = ("mse", "calibration_error", "sharpness")
FULL_METRICS = ("log_likelihood", "crps", "coverage_50", "coverage_90", "coverage_95")
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Cell(NamedTuple):
    """One metric of one row, in the printed unit."""

    text: str
    better: bool
    paper: str


class Row(NamedTuple):
    """One model in one setting."""

    label: str
    cells: list[Cell]


class TaskTable(NamedTuple):
    """The part of Table 1 about one task."""

    task: str
    title: str
    headers: list[str]
    rows: list[Row]
    full_rows: list[Row]
    floor: str
    seeds: int


def over_seeds(records: list[Record], task: str, model: str, mode: str, metric: str) -> Estimate:
    """A metric's mean over seeds, and the standard error of that mean."""
    wanted = (task, model, mode)
    return estimate(
        [r.metrics[metric].mean for r in records if (r.task, r.model, r.mode) == wanted]
    )


def build_tables(results: Results) -> list[TaskTable]:
    """One table for each task that the results hold."""
    present = {record.task for record in results.records}
    return [_build_table(results, task) for task in TITLES if task in present]


def _build_table(results: Results, task: str) -> TaskTable:
    records = [record for record in results.records if record.task == task]
    seeds = set.intersection(
        *({r.seed for r in records if r.model == m} for m in {r.model for r in records})
    )
    # Only seeds that every model has: a comparison of other means would not be paired.
    records = [record for record in records if record.seed in seeds]
    rows, full_rows = [], []
    for mode in ("test", "train"):
        models = [m for m in LABELS if any((r.model, r.mode) == (m, mode) for r in records)]
        values = {
            (model, metric): over_seeds(records, task, model, mode, metric)
            for model in models
            for metric in METRICS + FULL_METRICS
        }
        for model in models:
            label = LABELS[model] + ("*" if mode == "train" else "")
            cells = []
            for metric in METRICS:
                best = min(values[m, metric].mean for m in models)
                mine = values[model, metric]
                cells.append(
                    Cell(
                        text=_show(mine, unit(task, metric)),
                        # As in the paper, sharpness is not a contest.
                        better=metric != "sharpness" and len(models) > 1 and mine.mean == best,
                        paper=_show(getattr(TABLE_1[task, model, mode], metric), 1.0),
                    )
                )
            rows.append(Row(label, cells))
            full = [Cell(_show(values[model, m], 1.0, 3), False, "") for m in FULL_METRICS]
            full_rows.append(Row(label, full))
    headers = [
        f"MSE ({_power(MSE_EXPONENT[task])})",
        "Calib. error",
        f"Sharp. ({_power(SHARPNESS_EXPONENT)})",
    ]
    floor = estimate([floor.mse.mean for floor in results.floors if floor.task == task])
    return TaskTable(
        task=task,
        title=TITLES[task],
        headers=headers,
        rows=rows,
        full_rows=full_rows,
        floor=_show(floor, unit(task, "mse")),
        seeds=len(seeds),
    )


def to_markdown(tables: list[TaskTable], departures: str) -> str:
    """The content of `table.md`."""
    lines = [
        "# Table 1, reproduced",
        "",
        "Ours is the mean over seeds ± its standard error; the paper's is one training run ± the "
        "standard error over 500 test systems. Rows with * are the training setting: the full "
        "target set and, for LUPI, the privileged information. Lower is better; the better of "
        "each pair is bold (sharpness is not a contest). The floor is the error of the mean "
        "training trajectory, which no model that has learned anything should exceed.",
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
        "The mixture over samples of z of the decoded Normals: log-likelihood per value (higher is "
        "better), CRPS (lower is better), and how often the central 50, 90 and 95 % intervals "
        "cover what is observed.",
    ]
    for table in tables:
        names = "log-likelihood | CRPS | coverage 50 % | 90 % | 95 %"
        lines += ["", f"## {table.title}", "", f"| Model | {names} |", "|---" * 6 + "|"]
        for row in table.full_rows:
            lines.append(f"| {row.label} | {' | '.join(cell.text for cell in row.cells)} |")
    return "\n".join(lines) + "\n"


def to_terminal(table: TaskTable) -> Table:
    """One task's part of Table 1, for people."""
    seeds = "1 seed" if table.seeds == 1 else f"mean of {table.seeds} seeds ± standard error"
    shown = Table(
        title=table.title,
        caption=f"{seeds}; floor of the MSE: {table.floor}",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    shown.add_column("Model")
    for name in table.headers:
        shown.add_column(name, justify="right", no_wrap=True)
        shown.add_column("paper", justify="right", style="dim", no_wrap=True)
    for number, row in enumerate(table.rows):
        values = []
        for cell in row.cells:
            # The paper's standard errors are left to table.md: this fits 80 columns.
            paper = cell.paper.split(" ")[0]
            values += [f"[bold]{cell.text}[/]" if cell.better else cell.text, paper]
        last_of_setting = number + 1 < len(table.rows) and table.rows[number + 1].label[-1] == "*"
        shown.add_row(row.label, *values, end_section=last_of_setting and row.label[-1] != "*")
    return shown


def _show(value: Estimate, unit: float, digits: int = 2) -> str:
    text = f"{value.mean / unit:.{digits}f}"
    return text if value.stderr is None else f"{text} ± {value.stderr / unit:.{digits}f}"


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(SUPERSCRIPT)


def _bold(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.better else cell.text
