"""Series, observations and tasks: how they are read, made and split.

Nothing is imported before it is used: reading a table does not wait for JAX.
"""

from typing import TYPE_CHECKING

from lupi._machinery.lazy import lazy_names

if TYPE_CHECKING:
    from lupi.data.generation import generate_tasks
    from lupi.data.observations import Observations, Task
    from lupi.data.problems import Problem
    from lupi.data.ragged import RaggedTasks
    from lupi.data.reading import check_series, read_series
    from lupi.data.series_table import Columns, SeriesTable
    from lupi.data.split import Contexts, SizeRange, Split, draw_context, split_randomly
    from lupi.data.summary import summarise

_HOMES = {
    "Columns": "series_table",
    "Observations": "observations",
    "Problem": "problems",
    "RaggedTasks": "ragged",
    "SeriesTable": "series_table",
    "SizeRange": "split",
    "Split": "split",
    "Task": "observations",
    "check_series": "reading",
    "Contexts": "split",
    "draw_context": "split",
    "generate_tasks": "generation",
    "read_series": "reading",
    "split_randomly": "split",
    "summarise": "summary",
}

__all__ = [
    "Columns",
    "Contexts",
    "Observations",
    "Problem",
    "RaggedTasks",
    "SeriesTable",
    "SizeRange",
    "Split",
    "Task",
    "check_series",
    "draw_context",
    "generate_tasks",
    "read_series",
    "split_randomly",
    "summarise",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
