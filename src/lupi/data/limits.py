"""Quantities that cannot be just any number: positive ones, shares, counts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, model_validator

from lupi.errors import UserError

FARTHEST = 60.0
"""Beyond it, inside, numbers are no longer told apart outside."""


class Limit(BaseModel):
    """What values of a column lie between, and how they become numbers without limits.

    Above a lower limit alone the logarithm of the distance to it, below an upper one the same from
    there, between two the logarithm of the ratio of the distances (the logit). `room` keeps values
    that lie at a limit, such as a count of 0, at a finite distance.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    lower: float | None = None
    upper: float | None = None
    room: float = 0.0

    @model_validator(mode="after")
    def _in_order(self) -> "Limit":
        if self.lower is None and self.upper is None:
            raise ValueError("a limit has a lower end, an upper end, or both")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(f"expected a lower limit below the upper, got {self}")
        return self

    def __str__(self) -> str:
        """In words."""
        if self.upper is None:
            return f"at least {self.lower:g}"
        if self.lower is None:
            return f"at most {self.upper:g}"
        return f"from {self.lower:g} to {self.upper:g}"

    def suited_to(self, values: Float[np.ndarray, " value"]) -> "Limit":
        """With room for those of the values that lie at a limit: half the least distance of the
        others. None where there are none."""
        distances = [np.abs(values - end) for end in (self.lower, self.upper) if end is not None]
        there = np.concatenate(distances)
        there = there[~np.isnan(there)]
        if not (there == 0).any() or not (there > 0).any():
            return self.model_copy(update={"room": 0.0 if (there > 0).all() else 0.5})
        return self.model_copy(update={"room": float(there[there > 0].min()) / 2})

    def broken(self, values: Float[np.ndarray, "*shape"]) -> Any:
        """Which of the values lie beyond."""
        with np.errstate(invalid="ignore"):
            below = False if self.lower is None else values < self.lower
            above = False if self.upper is None else values > self.upper
        return np.broadcast_to(below | above, np.shape(values))  # pyright: ignore[reportOperatorIssue]

    def touched(self, values: Float[np.ndarray, "*shape"]) -> Any:
        """Which of the values lie at an end that has no room for them: they have no logarithm."""
        below, above = self._distances(np.asarray(values, float))
        return (below == 0) | (above == 0)

    def without(self, values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """The values as numbers without limits."""
        below, above = self._distances(np.asarray(values, float))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.clip(np.log(below) - np.log(above), -FARTHEST, FARTHEST)

    def within(self, numbers: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Numbers without limits as values again."""
        x = np.clip(np.asarray(numbers, float), -FARTHEST, FARTHEST)
        if self.upper is None:
            assert self.lower is not None
            return np.maximum(self.lower, self.lower - self.room + np.exp(x))
        if self.lower is None:
            return np.minimum(self.upper, self.upper + self.room - np.exp(-x))
        span = self.upper - self.lower + 2 * self.room
        return np.clip(self.lower - self.room + span / (1 + np.exp(-x)), self.lower, self.upper)

    def log_slope(self, values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """The logarithm of how fast the number without limits grows with the value."""
        below, above = self._distances(np.asarray(values, float))
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.upper is None:
                return -np.log(below)
            if self.lower is None:
                return -np.log(above)
            return np.log(1 / below + 1 / above)

    def _distances(self, values):
        """From the lower limit and from the upper, 1 where there is none."""
        one = np.ones_like(values)
        below = one if self.lower is None else values - self.lower + self.room
        above = one if self.upper is None else self.upper + self.room - values
        return below, above


def as_limits(
    positive: tuple[str, ...], limits: Any, observed: tuple[str, ...]
) -> dict[str, Limit]:
    """What a user says of observed columns: names of those that are 0 or more, and limits of others
    by name, each a lower and an upper one of which one may be None."""
    found = {name: Limit(lower=0.0) for name in positive}
    if limits is not None and not isinstance(limits, Mapping):
        raise UserError(
            "`limits`: expected a lower and an upper number for each column, such as "
            f"{{'share': (0, 1)}}, got {limits!r:.40}."
        )
    for name, ends in (limits or {}).items():
        try:
            lower, upper = (None if end is None else float(end) for end in ends)
            found[name] = Limit(lower=lower, upper=upper)
        except (TypeError, ValueError):
            raise UserError(
                f"limits of {name!r}: expected a lower and an upper number, the lower first, or "
                f"None for one of them, got {ends!r:.40}."
            ) from None
    unknown = [name for name in found if name not in observed]
    if unknown:
        raise UserError(
            f"limits are given for {unknown[0]!r}, which is none of the observed columns "
            f"({', '.join(observed)}): name one of these."
        )
    return found
