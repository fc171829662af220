"""How a forecaster did with few points and with many, near what it was shown and far beyond."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from lupi.data.series_table import SeriesTable
from lupi.distributions import NormalMixture
from lupi.evaluation import Scores
from lupi.forecasting.forecast import Forecast
from lupi.metrics import Estimate

SEEN = (1, 2, 5, 10, 20, 50, 100)
"""Where another group of numbers of points begins."""

DISTANCES = {
    "before or between what was shown": (-np.inf, 0.0),
    "beyond it by up to a third of the span": (0.0, 1 / 3),
    "by one to two thirds": (1 / 3, 2 / 3),
    "by more than two thirds": (2 / 3, np.inf),
}
"""From the last point shown, in spans of the training data: above the first, up to the second."""

Groups = dict[str, dict[str, Bool[np.ndarray, " row"]]]
"""Ways to divide what was held back, each with the rows of its groups."""


class Group(NamedTuple):
    """How one forecaster did on some of the values that were held back."""

    metrics: dict[str, dict[str, Estimate]]
    """For each observed column, mean and standard error over series of each metric."""
    values: dict[str, int]
    """Of each of these columns: how many there are."""


Breakdown = dict[str, dict[str, Group]]
"""By the way of dividing, and the group."""


def groups_of(shown: SeriesTable, held_back: SeriesTable, span: float) -> Groups:
    """By points seen and by distance beyond the last; groups without any row are left out."""
    labels, ends = shown.labels.tolist(), shown.times[shown.offsets[1:] - 1].tolist()
    last = dict(zip(labels, ends, strict=True))
    number = dict(zip(labels, shown.lengths.tolist(), strict=True))
    of_rows = np.repeat(np.arange(len(held_back)), held_back.lengths)
    seen = np.array([number[label] for label in held_back.labels.tolist()])[of_rows]
    ends = np.array([last[label] for label in held_back.labels.tolist()])[of_rows]
    beyond = (held_back.times - ends) / span
    by_seen = {
        _between(first, following): (seen >= first) & (seen < following)
        for first, following in zip(SEEN, (*SEEN[1:], sys.maxsize), strict=True)
    }
    by_distance = {
        name: (beyond > above) & (beyond <= most) for name, (above, most) in DISTANCES.items()
    }
    ways = {"points_seen": by_seen, "distance": by_distance}
    return {
        way: {name: rows for name, rows in some.items() if rows.any()} for way, some in ways.items()
    }


def _between(first: int, following: int) -> str:
    if following == sys.maxsize:
        return f"{first} or more"
    return f"{first}" if following == first + 1 else f"{first} to {following - 1}"


def break_down(
    forecast: Forecast,
    truth: SeriesTable,
    groups: Groups,
    scores: Scores,
    score: Callable[[Forecast, SeriesTable], Scores],
) -> Breakdown:
    """What a forecast of the rows of `truth` scores in each group; `scores` are those of all."""

    def judge(rows: np.ndarray) -> Group:
        found = scores if rows.all() else score(_only(forecast, rows), truth.rows(rows))
        names, number = truth.columns.observed, found.number.sum(axis=0).tolist()
        values = dict(zip(names, number, strict=True))
        metrics = found.by_column(names)
        return Group(metrics, {name: values[name] for name in metrics})

    return {way: {name: judge(rows) for name, rows in some.items()} for way, some in groups.items()}


def _only(forecast: Forecast, rows: np.ndarray) -> Forecast:
    """Some of its rows, without what it says of whole series."""
    return replace(
        forecast,
        labels=forecast.labels[rows],
        times=forecast.times[rows],
        positions=forecast.positions[rows],
        spans=forecast.spans[rows],
        mixture=NormalMixture(forecast.mixture.means[:, rows], forecast.mixture.scales[:, rows]),
        privileged=None,
        surprise=None,
        effective_share=None,
    )
