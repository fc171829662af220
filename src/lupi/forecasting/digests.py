"""Series that a forecaster was trained on, recognised when they come again."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from lupi.data.series_table import SeriesTable

BYTES = 6
"""Of a digest: by chance a table of thousands of new series has one that looks known once in ten
million times."""

MOST = 4096
"""Series of which digests are kept, evenly from all of them."""


class Recognised(NamedTuple):
    """How many series of a table were trained on, as far as that is known."""

    number: int
    of: int

    def __str__(self) -> str:
        """A warning; empty where no series is known to have been."""
        if self.number == 0:
            return ""
        some = "every series" if self.number == self.of else f"{self.number} of {self.of} series"
        return (
            f"the forecaster was trained on {some} of this table: what it scores there is better "
            "than it would be on new ones."
        )


def digest_series(table: SeriesTable) -> str:
    """A digest of the times and values of each series, one after the other, in hexadecimal."""
    places = np.unique(np.linspace(0, len(table) - 1, min(len(table), MOST)).round().astype(int))
    return "".join(_digest(table, place) for place in places.tolist())


def recognise(provenance: dict[str, Any], table: SeriesTable) -> Recognised:
    """Which series of a table a forecaster of this provenance was trained on."""
    data, number = provenance["data"], len(table)
    if data["fingerprint"] == table.fingerprint():
        return Recognised(number, number)
    size, text = 2 * BYTES, data.get("digests", "")
    known = {text[i : i + size] for i in range(0, len(text), size)}
    found = sum(_digest(table, place) in known for place in range(number)) if known else 0
    return Recognised(found, number)


def _digest(table: SeriesTable, place: int) -> str:
    """In float32, so that a number that was written as text and read again is the same."""
    rows = slice(*table.offsets[place : place + 2].tolist())
    times, values = table.times[rows], table.values[rows]
    numbers = np.append((times - times[:1])[:, None], values, axis=1).astype("<f4") + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return hashlib.sha256(np.ascontiguousarray(numbers).data).digest()[:BYTES].hex()
