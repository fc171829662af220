"""What `benchmarks.everyone` has measured, as a page of the docs.

`python -m benchmarks.everyone_page` writes it; with `--more` it prints each task by itself.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.everyone import CONTESTANTS, HERE, SEEDS, done, rows, settings, tasks
from lupi._machinery.files import write_atomically
from lupi.experiments import EXPERIMENTS
from lupi.experiments.results import Metric, Record, Results
from lupi.report.comparison import COLUMNS, HELP_COLUMNS, Compared, compare_results, help_row, row
from lupi.report.standings import Ratio

PAGE = HERE.parent / "docs" / "everyone.md"
INTRODUCTION = """# Everyone, on the paper's tasks

Every process, way to use privileged values, objective, aggregator, control and rival on the paper's
three tasks, clean and with noise of 0.1 standard deviations: 400 training systems, 2,000 steps of
training (a tenth of the best preset's), six paired seeds, 100 test systems of 5 to 9 points.
`make bench PARTS=everyone` does what is lacking, a minute or two of two cores for each network and
task, and keeps every seed in `benchmarks/everyone.jsonl`; `python -m benchmarks.everyone_page`
writes this page, and with `--more` prints more of each task. {there} of {whole} cells are there; a
dash is none. [compare.md](compare.md) says what the names are, [does-it-help.md](does-it-help.md)
what to make of it.
"""
PARTS_OF_PAGE = {
    "With the search, and rivals": """The CRPS, and what the 90 % interval covers. Those who are
measured on most tasks come first, the best of them before others, by their error beside that of the
nearest training series.""",
    "With the encoder alone": "",
    "Told the true values, or none": """The change of the CRPS, with Student's 95 % interval of the
logarithm of the ratio over seeds; in bold where that excludes 0.""",
    "Told the true values, or something else": "",
}


def compared() -> Iterator[tuple[str, Compared]]:
    """What `lupi compare` says of each task, from what has been measured."""
    for task, (name, _) in tasks().items():
        here = [line for line in rows() if line["task"] == task]
        if not here:
            continue
        results = Results(
            settings=settings(task, [line["model"] for line in here]).model_dump(mode="json"),
            records=[record for line in here for record in _records(name, line)],
            floors=[],
            claims=[],
        )
        (found,) = compare_results(results, {name: EXPERIMENTS[name]})
        yield task, found


def _records(experiment: str, line: dict) -> Iterator[Record]:
    for mode in (key for key in line if key not in ("task", "model")):
        values = line[mode]
        for seed in range(SEEDS):
            yield Record(
                experiment=experiment,
                model=line["model"],
                seed=seed,
                mode=mode,
                metrics={
                    name: Metric(mean=each[seed], stderr=None)
                    for name, each in values.items()
                    if not name.startswith("seconds.")
                },
                seconds={
                    name.removeprefix("seconds."): each[seed]
                    for name, each in values.items()
                    if name.startswith("seconds.")
                },
            )


def as_tables() -> str:
    """Each task by itself: the standings, and what privileged values are worth, as Markdown."""
    lines = []
    for task, one in compared():
        lines += [f"## {task}", "", *_table(COLUMNS, [row(s) for s in one.order])]
        lines += [*_table(HELP_COLUMNS, [help_row(h) for h in one.helps])]
    return "\n".join(lines)


def write_page() -> None:
    """All tasks beside each other, as a page of the docs."""
    found = dict(compared())
    lines = [INTRODUCTION.format(there=len(done()), whole=len(CONTESTANTS) * len(tasks()))]
    for (title, about), table in zip(PARTS_OF_PAGE.items(), grids(found), strict=True):
        lines += [f"## {title}", "", *([about, ""] if about else []), *table]
    write_atomically(PAGE, "\n".join(lines[:-1]) + "\n")


class Cell(NamedTuple):
    """What one line of a table says of one task, and by what lines are sorted."""

    text: str
    size: float


def grids(found: dict[str, Compared]) -> list[list[str]]:
    """`PARTS_OF_PAGE`: a line for each contestant or pair, and a column for each task."""
    searching, alone, helped, controls = kinds = [defaultdict(dict) for _ in PARTS_OF_PAGE]
    for task, one in found.items():
        usual = [s.metrics["crps"].mean for s in one.order if s.who.name == "nearest"]
        both = {s.who.name for s in one.order if s.end}
        for s in one.order:
            error = s.metrics["crps"].mean
            text = f"{error:.3g}, {100 * s.metrics['coverage_90'].mean:.0f} %"
            lines = alone if s.who.name in both and not s.end else searching
            lines[s.label][task] = Cell(text, error / max(usual, default=1.0))
        for h in one.helps:
            lines = helped if h.other.privileged == "true" else controls
            label = f"{h.who.label} against {h.other.label}{', both + search' if h.end else ''}"
            lines[label][task] = Cell(_change(h.ratio), h.ratio.mean)
    return [_grid(lines, list(found)) for lines in kinds]


def _change(ratio: Ratio) -> str:
    """In per cent; in bold where chance does not explain it."""
    mean, *ends = (f"{100 * (part - 1):+.1f}" for part in ratio if part is not None)
    text = f"{mean} % [{', '.join(ends)}]"
    return f"**{text}**" if ratio.sign else text


def _grid(lines: dict[str, dict[str, Cell]], of_tasks: list[str]) -> list[str]:
    """Those that have most tasks first, the best of them before others."""

    def place(label: str) -> tuple[int, float]:
        sizes = [cell.size for cell in lines[label].values()]
        return -len(sizes), float(np.mean(np.log(sizes)))

    cells = [
        [label, *(lines[label][task].text if task in lines[label] else "-" for task in of_tasks)]
        for label in sorted(lines, key=place)
    ]
    return _table(["", *of_tasks], cells)


def _table(columns: Iterable[str], cells: Iterable[list[str]]) -> list[str]:
    columns = list(columns)
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return [*head, *(f"| {' | '.join(line)} |" for line in cells), ""]


if __name__ == "__main__":
    if sys.argv[1:] == ["--more"]:
        print(as_tables())
    else:
        write_page()
