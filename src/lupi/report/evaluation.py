"""The report of `lupi evaluate`: metrics, figures and a page."""

import io
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from lupi.files import write_atomically
from lupi.judging import Judgement
from lupi.report.figures import STYLE
from lupi.report.write import data_uri

LABELS = {
    "rmse": "error of the mean (RMSE)",
    "rmse_of_training_mean": "the same, always forecasting the training mean",
    "crps": "CRPS",
    "log_likelihood": "log-likelihood of a value",
    "coverage_50": "in the 50 % interval",
    "coverage_90": "in the 90 % interval",
    "coverage_95": "in the 95 % interval",
    "calibration_error": "calibration error (Kuleshov's, pooled)",
    "std": "predicted standard deviation",
}


def write_evaluation(
    judgement: Judgement, out: Path, *, model: str, data: str, context: str
) -> None:
    """Write `metrics.json`, `figures/` and `report.html` into a folder."""
    write_atomically(out / "metrics.json", json.dumps(judgement.metrics, indent=1) + "\n")
    figures = {"examples": _draw_examples(judgement), "calibration": _draw_calibration(judgement)}
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
            "cells": [_cell(**metrics[name]) for metrics in judgement.metrics.values()],
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
        num_series=len(judgement.forecast),
        num_rows=len(judgement.truth),
        metrics=list(judgement.metrics),
        rows=rows,
        **{name: data_uri(path) for name, path in paths.items()},
    )
    write_atomically(out / "report.html", page)


def _cell(mean: float | None, stderr: float | None) -> str:
    return f"{mean:.3g}" + ("" if stderr is None else f" ± {stderr:.1g}")


def _draw_examples(judgement: Judgement):
    forecast, columns = judgement.forecast, judgement.forecast.columns
    with plt.style.context(STYLE):
        figure = forecast.plot()
        panels = iter(figure.axes)
        for label in forecast.series[:4]:
            rows = forecast.labels == label
            for j in range(len(columns.observed)):
                next(panels).plot(
                    forecast.times[rows], judgement.truth[rows, j], ".", color="#cc3311", ms=3
                )
    return figure


def _draw_calibration(judgement: Judgement):
    with plt.style.context(STYLE):
        figure, panel = plt.subplots(figsize=(3.6, 3.4))
        panel.plot([0, 1], [0, 1], color="0.6", lw=1)
        for j, name in enumerate(judgement.forecast.columns.observed):
            pit = np.sort(judgement.pit[:, j][~np.isnan(judgement.pit[:, j])])
            panel.plot(pit, np.arange(1, len(pit) + 1) / len(pit), label=name)
        panel.set(xlabel="predicted probability", ylabel="observed frequency")
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.legend(frameon=False)
    return figure
