"""Whether what is given a probability happens that often: of all values, and series by series."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lupi.forecasting import TableEvaluation
from lupi.metrics import chance_band, pit_shares

FEWEST_BINS, MOST_BINS = 4, 20
SERIES_IN_A_BIN = 5
"""About, of a histogram with fewer bins than the most."""


def draw_calibration(evaluation: TableEvaluation) -> Figure:
    """A reliability diagram, a histogram of the PIT, and how much of each series is covered."""
    forecast = evaluation.forecast
    names = forecast.columns.observed
    pit = np.asarray(forecast.probability_below(evaluation.truth), float)
    _, series = np.unique(forecast.labels, return_inverse=True)
    figure = plt.figure(figsize=(10.2, 3.5), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_reliability(left, evaluation, names)
    _draw_pit(middle, pit, series, names)
    _draw_coverage(right, pit, series, names)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6))
    return figure


def _draw_reliability(panel: Axes, evaluation: TableEvaluation, names: Sequence[str]) -> None:
    panel.plot([0, 1], [0, 1], color="0.6", lw=1)
    share = evaluation.scores.curve.over(0).share
    levels = np.arange(share.shape[-1] + 1) / share.shape[-1]
    for name, curve in zip(names, share, strict=True):
        panel.plot(levels, np.append(0.0, curve), label=name)
    panel.set(xlabel="predicted probability", ylabel="observed frequency", title="All values")
    panel.set(xlim=(0, 1), ylim=(0, 1))


def _draw_pit(panel: Axes, pit: np.ndarray, series: np.ndarray, names: Sequence[str]) -> None:
    number = int(series.max()) + 1
    num_bins = int(np.clip(number // SERIES_IN_A_BIN, FEWEST_BINS, MOST_BINS))
    edges = np.linspace(0, 1, num_bins + 1)
    lower, upper = (num_bins * end for end in chance_band(number, num_bins=num_bins))
    panel.axhspan(lower, upper, color="0.9", lw=0, zorder=0)
    panel.axhline(1.0, color="0.6", lw=1)
    for j in range(len(names)):
        shares = num_bins * pit_shares(pit[:, j], series, num_bins=num_bins)
        panel.stairs(shares, edges, baseline=None, lw=1.4)
    panel.set(xlabel="probability of less than what came", ylabel="share, of an even one")
    panel.set(title="Every series as one", xlim=(0, 1))
    panel.set_ylim(bottom=0)


def _draw_coverage(panel: Axes, pit: np.ndarray, series: np.ndarray, names: Sequence[str]) -> None:
    panel.axhline(90, color="0.6", lw=1)
    for j in range(len(names)):
        known = ~np.isnan(pit[:, j])
        inside = np.abs(pit[known, j] - 0.5) <= 0.45
        number = np.bincount(series[known])
        shares = np.bincount(series[known], inside)[number > 0] / number[number > 0]
        aside = 0.5 * ((j + 0.5) / len(names) - 0.5)  # none hides another
        panel.plot(np.arange(1, len(shares) + 1) + aside, 100 * np.sort(shares), ".", ms=4)
    panel.set(xlabel="series, in order", ylabel="% inside the 90 % interval", title="Each series")
    panel.set_ylim(-4, 104)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
