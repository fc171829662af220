"""Series to train on and series held out, as a model sees them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
    held, least = sum(numbers), sum(numbers) + (num_training or 1)
    if len(series) < least:
        raise UserError(
            f"there {'is' if len(series) == 1 else 'are'} {len(series)} series, training needs at "
            f"least {least}, {held} of them to be held out: give more, or name the series column."
        )
    *chosen, others = np.split(rng.permutation(len(series)), np.cumsum(numbers))
    training = series[np.sort(others[:num_training])]
    normalisation = Normalisation.of(training)
    # A held-out series may begin earlier or end later than all that are trained on.
    parts = [within_span(series[np.sort(part)], normalisation) for part in chosen]
    for part, number in zip(parts, numbers, strict=True):
        if len(part) == 0:
            raise UserError(
                f"none of the {number} series held out has an observation within the time of those "
                "that are trained on: give more series, or times that count from their beginning."
            )
    tasks = [to_tasks(part, normalisation) for part in (training, *parts)]
    return Divided(normalisation, tasks[0], tasks[1:])
