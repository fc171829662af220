"""Quantiles that are asked for, as columns of a table."""

from collections.abc import Sequence

from lupi.errors import UserError


def read_levels(text: str | None) -> list[float]:
    """The levels that a user names with commas between them; none of nothing."""
    if text is None:
        return []
    try:
        levels = [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(
            f"quantile levels must be numbers with commas between them, such as 0.1,0.5,0.9, got "
            f"{text!r}."
        ) from None
    return check_levels(levels)


def check_levels(levels: Sequence[float]) -> list[float]:
    """The levels, or an error where one is none, or there twice."""
    try:
        levels = [float(level) for level in levels]
    except (TypeError, ValueError):
        raise UserError(
            f"quantile levels must be a list of numbers, such as [0.1, 0.5, 0.9], got "
            f"{levels!r:.40}."
        ) from None
    for level in levels:
        if not 0 < level < 1:
            raise UserError(
                f"quantile levels must lie between 0 and 1, got {level:g}: 0.1 is the value below "
                "which a tenth of the probability lies."
            )
    names = [level_name(level) for level in levels]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"each quantile level can be asked for once, got {twice[0]} twice.")
    return levels


def level_name(level: float) -> str:
    """As the name of a column ends: `q0.1`."""
    return f"q{level:g}"
