"""Observations and tasks, and how they are made and split."""

from lupi.data.generation import generate_tasks
from lupi.data.observations import Observations, Task
from lupi.data.split import SizeRange, Split, draw_context, split_randomly

__all__ = [
    "Observations",
    "SizeRange",
    "Split",
    "Task",
    "draw_context",
    "generate_tasks",
    "split_randomly",
]
