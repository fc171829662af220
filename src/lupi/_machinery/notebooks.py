"""How objects look in a notebook: what they print, and below it what is worth a look."""

import base64
import html
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIRST_ROWS = 5
"""That are shown of a table."""


def as_html(shown: Any, *parts: Callable[[], str]) -> str:
    """What an object prints and then its parts, each HTML; one that fails is left out, since a
    notebook would show its error in the place of the object."""
    found = [f"<pre>{html.escape(repr(shown))}</pre>"]
    for part in parts:
        try:
            found.append(part())
        except Exception:
            continue
    return "".join(found)


def first_rows(frame: "pd.DataFrame") -> str:
    """The first rows of a table, and how many there are."""
    more = len(frame) - FIRST_ROWS
    rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    return frame.head(FIRST_ROWS).to_html(index=False) + rest


def picture(figure: "Figure") -> str:
    """A figure inside the page; it is closed, or a notebook would show it once more."""
    import matplotlib.pyplot as plt

    try:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=80)
    finally:
        plt.close(figure)
    return f'<img src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'
