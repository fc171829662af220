"""Which of some simple settings suits a table, told by series that were left out."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from lupi.errors import UserError
from lupi.forecasting.learning import Learned
from lupi.forecasting.settings import SIZES, ForecasterSettings, with_sizes, with_weight

Learn = Callable[[ForecasterSettings, str | None], Learned]
"""From settings, and where their training keeps its checkpoint, to what it comes to."""

WEIGHTS, WIDTHS = (0.1, 1.0), (32, 64)
"""Of the divergence, and of hidden layers: with each, the other one is tried."""

MOST_TRIED = 3
"""Settings: as they are, and with each of two changes."""

AS_IT_IS = "as it is"


def learn_and_choose(
    learn: Learn,
    settings: ForecasterSettings,
    *,
    checkpoint: str | os.PathLike | None,
    say: Callable[[str], None],
) -> Learned:
    """What forecasts series left out best (the CRPS), of these settings and some others.

    One setting after the other is changed, and stays so where that is better; a change with which
    training breaks down is left out. What each came to is kept in the provenance, beside the
    settings that were asked for.
    """
    paths = checkpoints(checkpoint) if checkpoint is not None else [None] * MOST_TRIED
    best = learn(settings, paths[0])
    tried, stopped_by = {AS_IT_IS: best.crps}, best.stopped_by
    for change, path in zip((_another_weight, _another_width), paths[1:], strict=True):
        for what, other in change(best.settings):
            if stopped_by is not None:
                break
            say(f"Trying {what}")
            try:
                found = learn(other, path)
            except UserError as error:
                say(f"{what} is left out: {error}")
                continue
            if isinstance(found.stopped_by, UserError):
                say(f"{what} is left out: {found.stopped_by}")
                continue
            tried[what], stopped_by = found.crps, found.stopped_by
            if found.crps < best.crps:
                best = found
    asked = settings.model_dump(mode="json")
    best.fitted.provenance |= {"tried": tried, "asked": asked}
    best.fitted.provenance["interrupted"] = stopped_by is not None
    return best._replace(stopped_by=stopped_by)


def checkpoints(path: str | os.PathLike) -> list[str]:
    """Where trainings may be kept: that of the settings as they are, and of each change."""
    return [os.fspath(path), *(f"{os.fspath(path)}.{i}" for i in range(1, MOST_TRIED))]


def remove_checkpoints(path: str | os.PathLike) -> None:
    """All that there are: training is over."""
    for one in checkpoints(path):
        with suppress(FileNotFoundError):
            Path(one).unlink()


def _another_weight(settings: ForecasterSettings) -> Iterator[tuple[str, ForecasterSettings]]:
    """Of the divergence, where there is a z and the objective has one: how much z may tell."""
    weight = getattr(settings.objective, "kl_weight", None)
    if weight is not None and settings.process.uses_privileged:
        other = _other(WEIGHTS, weight)
        yield f"kl_weight {other:g}", with_weight(settings, other)


def _another_width(settings: ForecasterSettings) -> Iterator[tuple[str, ForecasterSettings]]:
    """Of networks that have such sizes."""
    width = getattr(settings.process, SIZES[0], None)
    if width is not None:
        other = int(_other(WIDTHS, width))
        yield f"{SIZES[0]} {other}", with_sizes(settings, other)


def _other(two: tuple[int | float, int | float], here: int | float) -> int | float:
    """The one that is farther from what there is, as a ratio."""
    return max(two, key=lambda one: max(one / here, here / one))
