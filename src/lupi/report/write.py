"""All of the report: the table, the figures and the page."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from lupi._machinery.files import write_atomically
from lupi.errors import UserError
from lupi.experiments.experiment import Experiment
from lupi.experiments.paper import EXPERIMENTS
from lupi.experiments.results import Results, finished_folders, read_results
from lupi.registry import MODELS
from lupi.report.claims import describe_claims, kept_claims
from lupi.report.departures import describe_departures
from lupi.report.figures import write_figures
from lupi.report.paper import printed, unit
from lupi.report.table import ExperimentTable, build_tables, over_seeds, to_markdown

PAPER_EPOCHS = 100

ABILITIES = Path(__file__).parent / "figure-1.png"
"""The paper's Figure 1, which `python -m benchmarks.figure_1` draws from trained models."""


def write_report(
    out: Path, experiments: Mapping[str, Experiment] = EXPERIMENTS
) -> list[ExperimentTable]:
    """Write `table.md`, `figures/` and `report.html` from the results saved in `out`.

    `experiments` are those that `reproduce` was given, where they are not the paper's.
    """
    results, experiments = read_results(out), {**EXPERIMENTS, **experiments}
    for name in results.settings["experiments"]:
        if name not in experiments:
            raise UserError(
                f"{out} holds results of the experiment {name!r}, which is not the paper's: give "
                "`write_report` the experiments that `reproduce` was given."
            )
    tables = build_tables(results, experiments)
    write_atomically(out / "table.md", to_markdown(tables, describe_departures(results)))
    folders = finished_folders(out, experiments, results.settings["models"])
    figures = write_figures(folders, out / "figures", experiments)
    write_atomically(out / "report.html", _render_page(results, tables, figures))
    return tables


def _render_page(results: Results, tables: list[ExperimentTable], figures: list[Path]) -> str:
    environment = Environment(
        loader=PackageLoader("lupi.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    papers = [table.experiment for table in tables if table.experiment in EXPERIMENTS]
    shortest = min(
        (results.settings["experiments"][name]["training"]["epochs"] for name in papers),
        default=PAPER_EPOCHS,
    )
    return environment.get_template("page.html").render(
        num_models=len({(r.experiment, r.model, r.seed) for r in results.records}),
        small=f"{shortest} epochs" if shortest < PAPER_EPOCHS else None,
        departures=describe_departures(results),
        summary=_summarise(results, tables),
        claims=describe_claims(results.claims),
        kept=kept_claims(),
        papers=papers,
        tables=tables,
        figures={path.stem: data_uri(path) for path in figures},
        abilities=data_uri(ABILITIES),
        settings=json.dumps(results.settings, indent=1),
        version=results.settings["version"],
        colours={name: model.colour for name, model in MODELS.items()},
    )


def _summarise(results: Results, tables: list[ExperimentTable]) -> str:
    at_test = [
        over_seeds(results.records, t.experiment, model, "test", "mse").mean
        / (unit(t.experiment, "mse") * paper.mean)
        for t in tables
        for model in MODELS
        if any((r.experiment, r.model) == (t.experiment, model) for r in results.records)
        and (paper := printed(t.experiment, model, "test", "mse")) is not None
    ]
    reached = sum(ratio <= 1 for ratio in at_test)
    sentences = [
        f"At test time the mean squared error is at or below the paper's for {reached} of "
        f"{len(at_test)} models and experiments."
        if at_test
        else "Nothing here is to be compared with the paper's numbers."
    ]
    if results.claims:
        verdicts = [claim["verdict"] for claim in results.claims]
        sentences.append(
            f"Of {len(verdicts)} claims {verdicts.count('holds')} hold, "
            f"{verdicts.count('undecided')} are undecided and "
            f"{verdicts.count('contradicted')} are contradicted by the intervals of these runs."
        )
    return " ".join(sentences)


def data_uri(path: Path) -> str:
    """A picture as it stands inside a page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
