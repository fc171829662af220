"""What models are compared on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lupi.data.series_table import SeriesTable, check_is_table
from lupi.systems import System


@dataclass(frozen=True)
class Simulation:
    """A family of systems, each watched from 0 to a horizon."""

    system: System
    horizon: float


@dataclass(frozen=True)
class Shift:
    """Systems or points to be judged on, unlike those of training."""

    title: str
    system: System | None = None
    """The family; that of training if there is none."""
    horizons: int = 1
    """How long systems are watched, in horizons of training; points seen are of the first."""
    noise: float = 0.0
    """Of every observation, in standard deviations of each quantity."""
    window: tuple[float, float] = (0.0, 1.0)
    """When the points are seen, in horizons."""


@dataclass(frozen=True)
class Experiment:
    """Where systems come from, how long a model trains on them, and their words."""

    source: Simulation | SeriesTable
    """Systems that are simulated, or a table, each of whose series is one."""
    title: str
    quantities: tuple[str, ...]
    """What is observed, as figures call it."""
    privileged: str
    """What is privileged, as figures call it."""
    epochs: int | None = None
    """None takes as many as make 20,000 steps."""
    shifts: Mapping[str, Shift] = field(default_factory=dict)
    """Of simulated systems: what models are judged on beside systems like those of training."""

    @classmethod
    def of_table(cls, series: Any, *, title: str | None = None) -> "Experiment":
        """An experiment on the series of a table, as `lupi.read_series` gives them.

        Each seed trains on some of them and is judged on others, in units of the standard deviation
        of each column.
        """
        table = check_is_table(series)
        columns = table.columns
        return cls(
            source=table,
            title=title or f"{', '.join(columns.observed)} of {len(table)} series",
            quantities=columns.observed,
            privileged=", ".join(columns.privileged),
        )
