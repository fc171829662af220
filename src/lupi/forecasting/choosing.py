"""Which of some simple settings suits a table, told by series that were left out."""

import os
import time
from collections.abc import Callable, Sequence

from lupi.errors import UserError
from lupi.forecasting.learning import Learned
from lupi.forecasting.settings import SIZES, ForecasterSettings, with_sizes, with_weight
from lupi.training import DivergenceError

Learn = Callable[..., Learned]
"""From settings, and a `checkpoint` of their training, to what it comes to."""

WEIGHTS, WIDTHS = (0.1, 1.0), (32, 64)
"""Of the divergence, and of hidden layers: with each, the other one is tried."""

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
    training breaks down is left out, and stopped, the best so far is kept. What each came to is
    kept in the provenance, beside the settings that were asked for.
    """
    started, (first, *others) = time.monotonic(), _paths(checkpoint, settings)
    best = learn(settings, checkpoint=first)
    tried, stopped_by = {AS_IT_IS: best.crps}, best.stopped_by
    for change, path in zip(_changes(settings), others, strict=True):
        if stopped_by is not None:
            break
        what, other = change(best.settings)
        say(f"Trying {what}")
        try:
            found = learn(other, checkpoint=path)
        except (DivergenceError, KeyboardInterrupt) as error:
            found, why = None, error
        else:
            why = found.stopped_by
        if isinstance(why, UserError):
            say(f"{what} is left out: {why}")
            continue
        stopped_by = why
        if found is not None:
            tried[what] = found.crps
            best = found if found.crps < best.crps else best
    best.fitted.provenance |= {
        "tried": tried,
        "asked": settings.model_dump(mode="json"),
        "interrupted": stopped_by is not None,
        "seconds": time.monotonic() - started,
    }
    return best._replace(stopped_by=stopped_by)


def checkpoints(path: str | os.PathLike, settings: ForecasterSettings) -> list[str]:
    """Where training of these settings is kept and, where others are tried too, that of each."""
    number = len(_changes(settings)) if settings.choose else 0
    return [os.fspath(path), *(f"{os.fspath(path)}.{i}" for i in range(1, number + 1))]


def _paths(path: str | os.PathLike | None, settings: ForecasterSettings) -> Sequence[str | None]:
    return [None] * (1 + len(_changes(settings))) if path is None else checkpoints(path, settings)


def _changes(settings: ForecasterSettings) -> list[Callable]:
    """What can be changed of such settings."""
    has_weight = hasattr(settings.objective, "kl_weight") and settings.process.uses_privileged
    has_width = hasattr(settings.process, SIZES[0])
    return [_another_weight] * has_weight + [_another_width] * has_width


def _another_weight(settings: ForecasterSettings) -> tuple[str, ForecasterSettings]:
    """Of the divergence: how much z may tell."""
    other = _other(WEIGHTS, getattr(settings.objective, "kl_weight"))  # noqa: B009  not of all
    return f"kl_weight {other:g}", with_weight(settings, other)


def _another_width(settings: ForecasterSettings) -> tuple[str, ForecasterSettings]:
    """Of the networks."""
    other = int(_other(WIDTHS, getattr(settings.process, SIZES[0])))
    return f"{SIZES[0]} {other}", with_sizes(settings, other)


def _other(two: tuple[int | float, int | float], here: int | float) -> int | float:
    """The one that is farther from what there is, as a ratio."""
    return max(two, key=lambda one: max(one / here, here / one))
