"""All of the report: the table, the figures and the page."""

import base64
import json
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from lupi.experiments.results import Results, finished_folders, read_results
from lupi.files import write_atomically
from lupi.names import MODEL_NAMES
from lupi.report.claims import describe_claims
from lupi.report.departures import describe_departures
from lupi.report.figures import write_figures
from lupi.report.paper import TABLE_1, unit
from lupi.report.table import TaskTable, build_tables, over_seeds, to_markdown

PAPER_EPOCHS = 100


def write_report(out: Path) -> list[TaskTable]:
    """Write `table.md`, `figures/` and `report.html` from the results saved in `out`."""
    results = read_results(out)
    tables = build_tables(results)
    write_atomically(out / "table.md", to_markdown(tables, describe_departures(results)))
    folders = finished_folders(out)
    figures = write_figures(folders, out / "figures")
    write_atomically(out / "report.html", _render_page(results, tables, figures))
    return tables


def _render_page(results: Results, tables: list[TaskTable], figures: list[Path]) -> str:
    environment = Environment(
        loader=PackageLoader("lupi.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    shortest = min(results.settings["tasks"][t.task]["training"]["epochs"] for t in tables)
    return environment.get_template("page.html").render(
        num_models=len({(r.task, r.model, r.seed) for r in results.records}),
        small=f"{shortest} epochs" if shortest < PAPER_EPOCHS else None,
        departures=describe_departures(results),
        summary=_summarise(results, tables),
        claims=describe_claims(results.claims),
        tables=tables,
        figures={path.stem: data_uri(path) for path in figures},
        settings=json.dumps(results.settings, indent=1),
        version=results.settings["version"],
    )


def _summarise(results: Results, tables: list[TaskTable]) -> str:
    at_test = [
        (over_seeds(results.records, t.task, model, "test", "mse"), t.task, model)
        for t in tables
        for model in MODEL_NAMES
        if any((r.task, r.model) == (t.task, model) for r in results.records)
    ]
    reached = sum(
        value.mean / unit(task, "mse") <= TABLE_1[task, model, "test"].mse.mean
        for value, task, model in at_test
    )
    sentences = [
        f"At test time the mean squared error is at or below the paper's for {reached} of "
        f"{len(at_test)} models and tasks."
    ]
    if results.claims:
        verdicts = [claim["verdict"] for claim in results.claims]
        sentences.append(
            f"Of {len(verdicts)} claims {verdicts.count('holds')} hold, "
            f"{verdicts.count('undecided')} are undecided and "
            f"{verdicts.count('does not hold')} do not hold in these runs."
        )
    return " ".join(sentences)


def data_uri(path: Path) -> str:
    """A picture as it stands inside a page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
