"""Series that cannot be forecast, each with the reason; the others can."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lupi.data.problems import shown
from lupi.data.series_table import Columns, SeriesTable
from lupi.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

COLUMN = "refused"
"""Of tables with a row for each series that was refused."""


def refusal(columns: Columns, label: Any, reason: str) -> str:
    """The reason as a sentence about the series."""
    return f"{'the series' if columns.series is None else f'series {shown(label)}'} {reason}"


def check_labels(name: str, given: Mapping[Any, Any], table: SeriesTable) -> None:
    """Raise if a dictionary by series names any that the table never had."""
    labels = [*table.labels.tolist(), *table.unfit]
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise UserError(
            f"`{name}` names the series {', '.join(map(shown, unknown[:5]))}, not among the "
            f"observations ({', '.join(map(shown, labels[:5]))}): correct the labels."
        )


def with_refused(
    frame: "pd.DataFrame", refused: Mapping[Any, str], series: str | None
) -> "pd.DataFrame":
    """A table with one more row for each series that was refused: its label and the reason."""
    if not refused or series is None:
        return frame
    reasons = [*[""] * len(frame), *refused.values()]
    labels = [*frame[series].tolist(), *refused]
    frame = frame.reset_index(drop=True).reindex(range(len(reasons)))
    return frame.assign(**{series: labels, COLUMN: reasons})
