"""Every rival by name: how it is learnt from training systems, and how it is shown."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import PRNGKeyArray

from lupi.data.observations import Task
from lupi.ideal import IdealObserver
from lupi.models import AbstractPredictor, MeanTrajectory
from lupi.plain import LastValue, NearestSeries, PooledGP
from lupi.rivals.series_gp import SeriesGP

Learn = Callable[[Task, IdealObserver | None, PRNGKeyArray], AbstractPredictor]
"""From training systems, in the model's units; of simulated ones, who knows their equations."""


class Rival(NamedTuple):
    """A line of the table."""

    label: str
    """As tables and legends show it."""
    colour: str
    summary: str
    """In a few words."""
    learn: Learn
    needs_equations: bool = False
    """Whether it is of simulated systems only."""


def _ideal(training: Task, ideal: IdealObserver | None, key: PRNGKeyArray) -> IdealObserver:
    if ideal is None:
        raise ValueError("a rival that needs equations got none")
    return ideal


RIVALS: dict[str, Rival] = {
    "mean": Rival(
        label="mean trajectory",
        colour="#8d8d8d",
        summary="what the training systems do on average, whatever is observed",
        learn=lambda training, ideal, key: MeanTrajectory.of(training),
    ),
    "last-value": Rival(
        label="last value",
        colour="#b5a27c",
        summary="the value observed last stays",
        learn=lambda training, ideal, key: LastValue.of(training),
    ),
    "nearest": Rival(
        label="nearest series",
        colour="#6b8e4e",
        summary="goes on as the training systems did that were most like it",
        learn=lambda training, ideal, key: NearestSeries.of(training),
    ),
    "pooled-gp": Rival(
        label="shared GP",
        colour="#d08c2f",
        summary="Gaussian process with hyperparameters that the training systems share",
        learn=lambda training, ideal, key: PooledGP.of(training),
    ),
    "gp": Rival(
        label="GP of the series",
        colour="#e0b04c",
        summary="Gaussian process of the context alone, kernel by marginal likelihood",
        learn=lambda training, ideal, key: SeriesGP.of(training),
    ),
    "ideal": Rival(
        label="ideal observer",
        colour="#2b2b2b",
        summary="knows the equations, the distribution of their parameters and the noise",
        learn=_ideal,
        needs_equations=True,
    ),
}
"""By the name that commands give them. Those without a network of their own first."""
