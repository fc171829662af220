"""The report of `lupi evaluate`: metrics, figures and a page."""

import io
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from lupi._machinery.files import write_atomically
from lupi.forecasting import Forecast, TableEvaluation
from lupi.forecasting.fitted import NETWORKS
from lupi.forecasting.picture import add_legend
from lupi.forecasting.refusals import refusal
from lupi.report import breakdown
from lupi.report.calibration import draw_calibration
from lupi.report.figures import STYLE
from lupi.report.write import data_uri

FILES = ("metrics.json", "figures/examples.png", "figures/calibration.png", "report.html")
"""What is written into the folder."""

RED, HELD_BACK = "#cc3311", "held back"

LABELS = {
    "rmse": "error of the mean (RMSE)",
    "crps": "CRPS",
    "log_likelihood": "log-likelihood of a value",
    "coverage_50": "in the 50 % interval",
    "coverage_90": "in the 90 % interval",
    "coverage_95": "in the 95 % interval",
    "calibration_error": "calibration error (Kuleshov's, pooled)",
    "std": "predicted standard deviation",
}


def write_evaluation(
    evaluation: TableEvaluation,
    out: Path,
    *,
    examples: Forecast,
    model: str,
    data: str,
    context: str,
) -> None:
    """Write `FILES` into a folder: metrics, figures and a page.

    `examples` are forecasts of some of the series at many times.
    """
    metrics = as_dictionaries(evaluation)
    text = json.dumps(metrics, indent=1, allow_nan=False)
    write_atomically(out / "metrics.json", text + "\n")
    with plt.style.context(STYLE):
        figures = {
            "examples": _draw_examples(evaluation, examples),
            "calibration": draw_calibration(evaluation),
        }
    paths = {}
    for name, figure in figures.items():
        paths[name] = out / "figures" / f"{name}.png"
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=150)
        write_atomically(paths[name], buffer.getvalue())
        plt.close(figure)
    rows = [
        {
            "label": label,
            "cells": [_cell(*column[name]) for column in evaluation.metrics.values()],
        }
        for name, label in LABELS.items()
    ]
    environment = Environment(
        loader=PackageLoader("lupi.report", "."), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("evaluation.html").render(
        model=model,
        data=data,
        context=context,
        num_series=len(evaluation.forecast),
        num_rows=len(evaluation.truth),
        metrics=list(evaluation.metrics),
        rows=rows,
        parts=compared(evaluation),
        breakdown=breakdown.tables(evaluation),
        warning=str(evaluation.recognised),
        refused=[
            refusal(evaluation.forecast.columns, label, reason)
            for label, reason in evaluation.refused.items()
        ],
        widening=list(map(str, evaluation.widening)),
        privileged=evaluation.privileged,
        num_strangers=len(evaluation.forecast.strangers),
        knows_strangers=evaluation.forecast.surprise is not None,
        **{name: data_uri(path) for name, path in paths.items()},
    )
    write_atomically(out / "report.html", page)


def as_dictionaries(evaluation: TableEvaluation) -> dict[str, Any]:
    """The metrics as they stand in `metrics.json`: by column and name, each a mean and a stderr.

    Then of the parts, by points shown and distance, of series known from training, of what was
    widened and, where there are any, of series left out and of privileged values recovered.
    """
    metrics: dict[str, Any] = {
        column: {name: value._asdict() for name, value in found.items()}
        for column, found in evaluation.metrics.items()
    }
    if evaluation.parts:
        metrics["parts"] = {
            name: {
                column: {metric: value._asdict() for metric, value in found.items()}
                for column, found in part.items()
            }
            for name, part in evaluation.parts.items()
        }
    if evaluation.refused:
        metrics["refused"] = {str(label): reason for label, reason in evaluation.refused.items()}
    metrics["breakdown"] = breakdown.as_dictionaries(evaluation)
    metrics["trained_on"] = evaluation.recognised._asdict()
    metrics["widening"] = [one._asdict() for one in evaluation.widening]
    return metrics | ({"privileged": evaluation.privileged} if evaluation.privileged else {})


def compared(evaluation: TableEvaluation) -> list[dict[str, Any]]:
    """The forecaster beside its networks and plain guesses: error and coverage of each column."""
    if not evaluation.parts:
        return []
    everyone = {"forecaster": evaluation.metrics} | evaluation.parts
    return [
        {
            "name": "its networks alone" if name == NETWORKS else name,
            "columns": {
                column: {
                    "error": _cell(*found["rmse"]),
                    "crps": _cell(*found["crps"]),
                    "covers": f"{100 * found['coverage_90'].mean:.0f} %",
                }
                for column, found in metrics.items()
            },
        }
        for name, metrics in everyone.items()
    ]


def _cell(mean: float, stderr: float | None) -> str:
    return f"{mean:.3g}" + ("" if stderr is None else f" ± {stderr:.1g}")


def _draw_examples(evaluation: TableEvaluation, examples: Forecast) -> Figure:
    forecast = evaluation.forecast
    figure = examples.plot(coverage=0.9)
    panels = iter(figure.axes)
    for label in examples.series:
        one = forecast.labels == label
        for j in range(len(forecast.columns.observed)):
            next(panels).plot(
                forecast.times[one], evaluation.truth[one, j], ".", color=RED, ms=4, label=HELD_BACK
            )
    add_legend(figure)
    return figure
