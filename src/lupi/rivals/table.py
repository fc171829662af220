"""Every rival by name: how it is learnt from training systems, and how it is shown."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import PRNGKeyArray

from lupi.data.observations import Task
from lupi.errors import UserError
from lupi.ideal import IdealObserver
from lupi.models import AbstractPredictor, MeanTrajectory
from lupi.plain import LastValue, NearestSeries, PooledGP
from lupi.rivals.filled import Filled
from lupi.rivals.fitted_equations import FittedEquations
from lupi.rivals.neural_ode import NeuralODE
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
        raise UserError(
            "expected simulated systems, whose equations and noise are known, got others: leave "
            "out the rivals that need equations."
        )
    return ideal


def _fitted(training: Task, ideal: IdealObserver | None, key: PRNGKeyArray) -> FittedEquations:
    return FittedEquations(observer=_ideal(training, ideal, key))  # pyright: ignore[reportCallIssue]


def _filled(predictor: AbstractPredictor) -> Filled:
    return Filled(predictor=predictor)  # pyright: ignore[reportCallIssue]


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
        learn=lambda training, ideal, key: _filled(PooledGP.of(training)),
    ),
    "gp": Rival(
        label="GP of the series",
        colour="#e0b04c",
        summary="Gaussian process of the context alone, kernel by marginal likelihood",
        learn=lambda training, ideal, key: _filled(SeriesGP.of(training)),
    ),
    "neural-ode": Rival(
        label="neural ODE",
        colour="#4c9f70",
        summary="a network for dx/dt of the observed quantities, fitted to the context",
        learn=lambda training, ideal, key: NeuralODE.of(training, "vanilla"),
    ),
    "anode": Rival(
        label="ANODE",
        colour="#2e86ab",
        summary="the same with further quantities beside the observed ones",
        learn=lambda training, ideal, key: NeuralODE.of(training, "augmented"),
    ),
    "sonode": Rival(
        label="SONODE",
        colour="#7b4b94",
        summary="the same of second order: positions and velocities",
        learn=lambda training, ideal, key: NeuralODE.of(training, "second-order"),
    ),
    "equations": Rival(
        label="fitted equations",
        colour="#a23b72",
        summary="the true equations, fitted to the context by maximum likelihood",
        learn=_fitted,
        needs_equations=True,
    ),
    "ideal": Rival(
        label="ideal observer",
        colour="#2b2b2b",
        summary="knows the equations, the distribution of their parameters and the noise",
        learn=_ideal,
        needs_equations=True,
    ),
}
"""By the name that commands give them, from what knows least to what knows all."""
