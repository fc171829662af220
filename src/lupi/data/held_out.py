"""Series to train on and series held out, as a model sees them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from lupi.data.normalisation import Normalisation, to_tasks, within_span
from lupi.data.ragged import RaggedTasks
from lupi.data.series_table import SeriesTable
from lupi.errors import UserError


class Divided(NamedTuple):
    """Series in the units that those to train on call for."""

    normalisation: Normalisation
    training: RaggedTasks
    held_out: list[RaggedTasks]
    """Each part without what lies before or after all that is trained on."""
    numbers: list[Int[np.ndarray, " series"]]
    """Of the series in each part: some may lie before or after as a whole."""


def hold_out(
    series: SeriesTable,
    numbers: Sequence[int],
    *,
    num_training: int | None = None,
    rng: np.random.Generator,
) -> Divided:
    """Series held out at random, as many for each part as `numbers` says, and others to train on.

    All others, or `num_training` of them. The order of rows in a file does not matter.
    """
    _check_number(series, sum(numbers), num_training or 1)
    *chosen, others = np.split(rng.permutation(len(series)), np.cumsum(numbers))
    return _divide(series, others[:num_training], chosen)


def leave_out_in_turns(
    series: SeriesTable, number: int, size: int, *, rng: np.random.Generator
) -> list[Divided]:
    """Several divisions, each with other series held out, in random order; all of them are if that
    takes no more, and some of them twice if it takes less."""
    _check_number(series, size, 1)
    if number > 1:
        Normalisation.of(series)  # what is wrong with all of them should be said first
    order = rng.permutation(len(series))
    divided = []
    for turn in range(number):
        places = (turn * size + np.arange(size)) % len(series)
        others = np.delete(order, places)
        divided.append(_divide(series, others, [order[places]], some=number > 1))
    return divided


def _check_number(series: SeriesTable, held: int, num_training: int) -> None:
    least = held + num_training
    if len(series) < least:
        raise UserError(
            f"there {'is' if len(series) == 1 else 'are'} {len(series)} series, training needs at "
            f"least {least}, {held} of them to be held out: give more, or name the series column."
        )


def _divide(
    series: SeriesTable,
    others: np.ndarray,
    chosen: Sequence[np.ndarray],
    *,
    some: bool = False,
) -> Divided:
    training = series[np.sort(others)]
    normalisation = Normalisation.of(training, some=some)
    # A held-out series may begin earlier or end later than all that are trained on.
    parts = [within_span(series[np.sort(part)], normalisation) for part in chosen]
    places = {label: place for place, label in enumerate(series.labels.tolist())}
    for part, held in zip(parts, chosen, strict=True):
        if len(part) == 0:
            raise UserError(
                f"none of the {len(held)} series held out has an observation within the time of "
                "those that are trained on: give more series, or times that count from their "
                "beginning."
            )
    tasks = [to_tasks(part, normalisation) for part in (training, *parts)]
    numbers = [np.array([places[label] for label in part.labels.tolist()]) for part in parts]
    return Divided(normalisation, tasks[0], tasks[1:], numbers)
