"""Whether a file holds what a training would come to."""

from pathlib import Path
from typing import Any

from lupi._machinery.array_files import read_arrays
from lupi.data.series_table import SeriesTable
from lupi.errors import UserError
from lupi.forecasting.fitted_file import Contents
from lupi.forecasting.learning import identity_of
from lupi.forecasting.settings import ForecasterSettings


def read_same(
    path: Path, series: SeriesTable, settings: ForecasterSettings, *, seed: int
) -> dict[str, Any] | None:
    """The provenance in a file that the same data, settings, seed and versions have made, to its
    end or not; nothing where there is another file, or none."""
    if not path.is_file():
        return None
    try:
        header, _ = read_arrays(path, kind="forecaster")
        Contents.of(header, path)
    except UserError:
        return None
    provenance = header["provenance"]
    made = {name: provenance[name] for name in ("seed", "versions")}
    made |= {"settings": provenance.get("asked", header["settings"])}
    made |= {"data": provenance["data"]["fingerprint"]}
    return provenance if made == identity_of(series, settings, seed=seed) else None
