"""Forecasts as a picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lupi.forecasting.forecast import Forecast

WIDTH, HEIGHT = 3.8, 2.5
"""Of a panel, in inches."""


def draw(forecast: "Forecast", labels: list, coverage: float) -> "Figure":
    """Mean, interval and observations: a row of panels for each series, one for each column."""
    import matplotlib.pyplot as plt

    columns, names = forecast.columns, forecast.columns.observed
    size = (max(WIDTH * len(names), 5.0), HEIGHT * len(labels) + 0.4)
    figure, panels = plt.subplots(
        len(labels), len(names), figsize=size, squeeze=False, layout="constrained"
    )
    for row, label in zip(panels, labels, strict=True):
        one = forecast[label]
        order = np.argsort(one.times)
        mean, (lower, upper) = one.mean, one.interval(coverage=coverage)
        seen, times = one.observations, one.times[order]
        for i, (panel, name) in enumerate(zip(row, names, strict=True)):
            band = f"{100 * coverage:g} % interval"
            panel.fill_between(
                times, lower[order, i], upper[order, i], alpha=0.25, lw=0, label=band
            )
            panel.plot(times, mean[order, i], label="mean")
            panel.plot(seen[columns.time], seen[name], "ko", ms=4, label="observed")
            panel.set_ylabel(columns.with_unit(name))
            if columns.datetime:
                _date_labels(panel)
            if columns.series is not None:
                panel.set_title(f"{columns.series} {label}")
    for panel in panels[-1]:
        panel.set_xlabel(columns.with_unit(columns.time))
    add_legend(figure)
    return figure


def _date_labels(panel: "Axes") -> None:
    """Few enough not to overlap, and short: what all have in common stands once, at the end."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator: Any = AutoDateLocator(minticks=3, maxticks=6)
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def add_legend(figure: "Figure") -> None:
    """One for all panels, below them, in place of one that is there."""
    for legend in list(figure.legends):
        legend.remove()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9
    )
