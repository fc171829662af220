"""What is known of new series too: a dose, a group, a temperature that is set or forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64

KNOTS = 64
"""Of the path of what changes within a series: solvers take no more steps than that for a span."""


@dataclass(frozen=True, eq=False)
class Known:
    """Of each series a path: values at knots, straight lines between them, and level beyond.

    A jump is two knots at one time. What does not change within a series has one knot.
    """

    offsets: Int64[np.ndarray, " boundary"]
    times: Float64[np.ndarray, " knot"]
    values: Float64[np.ndarray, "knot known"]
    varies: bool
    """Whether anything changes within a series, of these or of those that they are some of."""

    def __len__(self) -> int:
        """How many series there are."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<Known: {self.values.shape[1]} columns of {len(self)} series>"

    def __getitem__(self, chosen: Int64[np.ndarray, " chosen"]) -> "Known":
        """The paths of some series."""
        paths = [self.path(i) for i in chosen.tolist()]
        return Known.joined(paths, self.values.shape[1], varies=self.varies)

    @classmethod
    def joined(cls, paths: Sequence["Path"], number: int, *, varies: bool = False) -> "Known":
        """Of so many columns: the paths of series, one after the other."""
        lengths = [len(path.times) for path in paths]
        return cls(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]),
            np.concatenate([np.zeros(0), *(path.times for path in paths)]),
            np.concatenate([np.zeros((0, number)), *(path.values for path in paths)]),
            varies or any(length > 1 for length in lengths),
        )

    def path(self, i: int) -> "Path":
        """That of one series."""
        knots = slice(*self.offsets[i : i + 2])
        return Path(self.times[knots], self.values[knots])

    def arrays(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and values with so many knots for every series: the last one is repeated where
        there are fewer, and of more some are left out, evenly."""
        paths = [self.path(i) for i in range(len(self))]
        chosen = [
            np.round(np.linspace(0, len(path.times) - 1, number)).astype(int)
            if len(path.times) > number
            else np.minimum(np.arange(number), len(path.times) - 1)
            for path in paths
        ]
        shape = (len(paths), number)
        times = np.array([p.times[i] for p, i in zip(paths, chosen, strict=True)]).reshape(shape)
        values = [p.values[i] for p, i in zip(paths, chosen, strict=True)]
        return times, np.array(values).reshape(*shape, self.values.shape[1])


class Path(NamedTuple):
    """Knots of one series."""

    times: Float64[np.ndarray, " knot"]
    values: Float64[np.ndarray, "knot known"]

    def at(self, times: Float64[np.ndarray, " time"]) -> Float64[np.ndarray, "time known"]:
        """The values at some times; at a jump the later one."""
        after = np.searchsorted(self.times, times, side="right")
        left, right = np.maximum(after - 1, 0), np.minimum(after, len(self.times) - 1)
        span = self.times[right] - self.times[left]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(span > 0, (times - self.times[left]) / span, 0.0)[:, None]
        return self.values[left] + np.clip(share, 0.0, 1.0) * (
            self.values[right] - self.values[left]
        )

    def between(self, first: float, last: float, summed: Bool[np.ndarray, " known"]) -> "Path":
        """The part of it from one time to another; what adds up does so from the first on."""
        inside = (self.times > first) & (self.times <= last)
        ends = self.at(np.array([first, last]))
        values = np.concatenate([ends[:1], self.values[inside], ends[1:]])
        if first > self.times[0]:
            values[:, summed] -= self.at(np.array([np.nextafter(first, -np.inf)]))[:, summed]
        if (values == values[0]).all():
            return Path(np.array([first]), values[:1])
        return Path(np.concatenate([[first], self.times[inside], [last]]), values)


def make_path(
    times: Float64[np.ndarray, " row"],
    values: Float64[np.ndarray, "row known"],
    held: Bool[np.ndarray, " known"],
) -> Path:
    """The path through rows in order of time, where each column has a value in some row.

    Where a row has none (NaN) a column goes in a straight line; those that are `held` stay as they
    were and jump.
    """
    filled = values.copy()
    for j in range(values.shape[1]):
        there = np.flatnonzero(~np.isnan(values[:, j]))
        if held[j]:
            last = np.searchsorted(there, np.arange(len(times)), side="right") - 1
            filled[:, j] = values[there[np.maximum(last, 0)], j]
        else:
            filled[:, j] = np.interp(times, times[there], values[there, j])
    if (filled == filled[0]).all():
        return Path(times[:1], filled[:1])
    jumps = np.flatnonzero((filled[1:, held] != filled[:-1, held]).any(axis=1)) + 1
    before = filled[jumps].copy()
    before[:, held] = filled[jumps - 1][:, held]
    order = np.argsort(np.concatenate([np.arange(len(times)), jumps - 0.5]), kind="stable")
    return Path(
        np.concatenate([times, times[jumps]])[order], np.concatenate([filled, before])[order]
    )


def expanded_names(
    names: Sequence[str], categories: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """What columns are called as numbers: one of categories is one for each of them."""
    each = [[f"{name}={kind}" for kind in categories.get(name, ())] or [name] for name in names]
    return tuple(name for some in each for name in some)


def one_hot(codes: Int64[np.ndarray, " row"], number: int) -> Float64[np.ndarray, "row category"]:
    """Numbers of categories as columns of 0 and 1; NaN where there is none (-1)."""
    found = np.zeros((len(codes), number))
    there = codes >= 0
    found[np.flatnonzero(there), codes[there]] = 1.0
    found[~there] = np.nan
    return found


def category_codes(column: Any, categories: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's category, -1 where there is none, and which rows have an unknown
    one."""
    text, there = as_text(column)
    places = {category: place for place, category in enumerate(categories)}
    codes = np.array(
        [places.get(one, -2) if some else -1 for one, some in zip(text, there, strict=True)],
        np.int64,
    )
    return np.maximum(codes, -1), codes == -2


def as_text(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """A column as text, and which rows have any; whole numbers without a point."""
    import pandas as pd

    from lupi.data.parsing import MISSING

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    values = column.array
    text = np.array(
        [
            str(int(one)) if isinstance(one, float) and one.is_integer() else str(one).strip()
            for one in values
        ],
        object,
    )
    there = column.notna().to_numpy(bool) & ~np.isin(text.astype(str), MISSING)
    return text, there
