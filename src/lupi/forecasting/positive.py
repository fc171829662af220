"""Positive columns that are better forecast as logarithms, found by trying."""

from dataclasses import replace
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from lupi.blending import OutOfFold
from lupi.data.held_out import leave_out_in_turns
from lupi.data.limits import Limit
from lupi.data.normalisation import Normalisation
from lupi.data.original_units import in_original_units
from lupi.data.series_table import SeriesTable
from lupi.errors import UserError
from lupi.inference.family import some_tasks
from lupi.plain import PLAIN

MOST_SERIES = 128
"""That are looked at, at random."""

FOLDS = 4

SURE = 0.95
"""The probability that logarithms are better, from which on they are taken."""


class Found(NamedTuple):
    """A column that is positive, and the CRPS of the best plain guess on runs left out."""

    column: str
    crps: float
    crps_of_logarithms: float

    def __str__(self) -> str:
        """What was found, and what that means."""
        return (
            f"no value of {self.column!r} is below 0, and as logarithms they are better forecast "
            f"(CRPS {self.crps_of_logarithms:.3g} instead of {self.crps:.3g}): it is taken for "
            "positive, and no forecast is below 0."
        )


def find_positive(series: SeriesTable, *, seed: int) -> list[Found]:
    """Columns without limits, none of whose values is below 0, where plain guesses forecast runs
    left out better by logarithms, in the unit of the column and beyond chance."""
    return [
        found
        for name, values in zip(series.columns.observed, series.values.T, strict=True)
        if name not in series.columns.limits and np.nanmin(values, initial=np.inf) >= 0
        if (found := _compare(series, name, seed)) is not None
    ]


def with_positive(series: SeriesTable, found: list[Found]) -> SeriesTable:
    """The series, their columns with the limits that were found."""
    return _above_zero(series, [one.column for one in found])


def _above_zero(series: SeriesTable, names: list[str]) -> SeriesTable:
    columns = series.columns
    found = {
        name: Limit(lower=0.0).suited_to(series.values[:, columns.observed.index(name)])
        for name in names
    }
    limits = columns.limits | found
    return replace(series, columns=columns.model_copy(update={"limits": limits}))


def _compare(series: SeriesTable, name: str, seed: int) -> Found | None:
    from scipy.stats import t as student

    alone = _column(series, name, seed)
    try:
        plain, logarithms = (_scores(one, seed) for one in (alone, _above_zero(alone, [name])))
    except UserError:  # too few series, or too short ones, to find out
        return None
    better = plain - logarithms
    number = len(better)
    if number < 3 or not np.isfinite(better).all():
        return None
    least = student.ppf(SURE, number - 1) * better.std(ddof=1) / np.sqrt(number)
    if better.mean() <= least:
        return None
    return Found(name, float(plain.mean()), float(logarithms.mean()))


def _column(series: SeriesTable, name: str, seed: int) -> SeriesTable:
    """One observed column of some series, and nothing else."""
    some = series
    if len(series) > MOST_SERIES:
        chosen = np.random.default_rng(seed).permutation(len(series))[:MOST_SERIES]
        some = series[np.sort(chosen)]
    values = some.values[:, [series.columns.observed.index(name)]]
    nothing = {"privileged": (), "known": (), "events": (), "categories": {}, "limits": {}}
    columns = series.columns.model_copy(update={"observed": (name,), **nothing})
    privileged = np.zeros((len(some), 0))
    alone = replace(some, columns=columns, values=values, privileged=privileged, known=None)
    return alone.rows(~np.isnan(values[:, 0]))


def _scores(series: SeriesTable, seed: int) -> Float[np.ndarray, " series"]:
    """The CRPS of each series that the best plain guess, which has not seen it, comes to."""
    number = min(FOLDS, len(series))
    size = -(-len(series) // number)
    rng = np.random.default_rng(seed)
    divided = leave_out_in_turns(series, number, size, rng=rng)
    common = Normalisation.of(series)
    folds = OutOfFold.of(divided, common, key=jax.random.key(seed))
    seen = [some_tasks(part.training, MOST_SERIES, 0) for part in divided]
    values = common.to_original_values(folds.values)
    there = ~np.isnan(values)
    scores = []
    for kind in PLAIN.values():
        answers = folds.answers([kind.of(tasks) for tasks in seen])
        answers = folds.calibrated(answers, folds.calibrate(folds.scores(answers), certain=True))
        crps = np.asarray(in_original_units(answers, common).crps(values), float)
        of_questions = np.where(there, folds.weights * crps, 0.0).sum(axis=(1, 2))
        scores.append(np.bincount(folds.series, of_questions))
    return min(scores, key=np.mean)
