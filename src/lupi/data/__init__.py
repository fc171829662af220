"""Series, observations and tasks: how they are read, made and split.

Nothing is imported before it is used: reading a table does not wait for JAX.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lupi.data.generation import generate_tasks
    from lupi.data.observations import Observations, Task
    from lupi.data.problems import Problem
    from lupi.data.reading import check_tasks, read_tasks
    from lupi.data.series_table import Columns, SeriesTable
    from lupi.data.split import SizeRange, Split, draw_context, split_randomly
    from lupi.data.summary import summarise

_HOMES = {
    "Columns": "series_table",
    "Observations": "observations",
    "Problem": "problems",
    "SeriesTable": "series_table",
    "SizeRange": "split",
    "Split": "split",
    "Task": "observations",
    "check_tasks": "reading",
    "draw_context": "split",
    "generate_tasks": "generation",
    "read_tasks": "reading",
    "split_randomly": "split",
    "summarise": "summary",
}

__all__ = [
    "Columns",
    "Observations",
    "Problem",
    "SeriesTable",
    "SizeRange",
    "Split",
    "Task",
    "check_tasks",
    "draw_context",
    "generate_tasks",
    "read_tasks",
    "split_randomly",
    "summarise",
]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(f"lupi.data.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'lupi.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
