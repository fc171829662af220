"""The report of `lupi evaluate`: metrics, figures and a page."""

import io
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from lupi._machinery.files import write_atomically
from lupi.forecasting import TableEvaluation
from lupi.forecasting.fitted import NETWORKS
from lupi.report.figures import STYLE
from lupi.report.write import data_uri

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
    evaluation: TableEvaluation, out: Path, *, model: str, data: str, context: str
) -> None:
    """Write `metrics.json`, `figures/` and `report.html` into a folder."""
    metrics = as_dictionaries(evaluation)
    text = json.dumps(metrics, indent=1, allow_nan=False)
    write_atomically(out / "metrics.json", text + "\n")
    figures = {"examples": _draw_examples(evaluation), "calibration": _draw_calibration(evaluation)}
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
        privileged=evaluation.privileged,
        num_strangers=len(evaluation.forecast.strangers),
        knows_strangers=evaluation.forecast.surprise is not None,
        **{name: data_uri(path) for name, path in paths.items()},
    )
    write_atomically(out / "report.html", page)


def as_dictionaries(evaluation: TableEvaluation) -> dict[str, Any]:
    """The metrics as they stand in `metrics.json`: by column and name, each a mean and a stderr.

    Where there are any, also how well privileged values are recovered, and series left out.
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


def _draw_examples(evaluation: TableEvaluation):
    forecast, columns = evaluation.forecast, evaluation.forecast.columns
    with plt.style.context(STYLE):
        figure = forecast.plot()
        panels = iter(figure.axes)
        for label in forecast.series[:4]:
            rows = forecast.labels == label
            for j in range(len(columns.observed)):
                next(panels).plot(
                    forecast.times[rows], evaluation.truth[rows, j], ".", color="#cc3311", ms=3
                )
    return figure


def _draw_calibration(evaluation: TableEvaluation):
    with plt.style.context(STYLE):
        figure, panel = plt.subplots(figsize=(3.6, 3.4))
        panel.plot([0, 1], [0, 1], color="0.6", lw=1)
        share = evaluation.scores.curve.over(0).share
        levels = np.arange(share.shape[-1] + 1) / share.shape[-1]
        for name, curve in zip(evaluation.forecast.columns.observed, share, strict=True):
            panel.plot(levels, np.append(0.0, curve), label=name)
        panel.set(xlabel="predicted probability", ylabel="observed frequency")
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.legend(frameon=False)
    return figure
