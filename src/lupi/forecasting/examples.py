"""Forecasts of a few series of a table, at many times, for pictures."""

import numpy as np

from lupi.data.series_table import SeriesTable, original_times
from lupi.forecasting.evaluation import as_new
from lupi.forecasting.forecast import Forecast
from lupi.forecasting.forecaster import Forecaster

NUM_TIMES = 128


def examples(
    forecaster: Forecaster, table: SeriesTable, forecast: Forecast, *, number: int = 4
) -> Forecast:
    """The first series of a forecast, asked for again from the same observations, over all of the
    time that the table has of them."""
    import pandas as pd

    places = {label: place for place, label in enumerate(table.labels.tolist())}
    labels = forecast.series[:number]
    chosen = table[[places[label] for label in labels]]
    ends = chosen.times[chosen.offsets[:-1]], chosen.times[chosen.offsets[1:] - 1]
    grids = np.linspace(*ends, NUM_TIMES, axis=1)
    times = [original_times(table.columns, grid) for grid in grids]
    names = [name for name in (table.columns.series, table.columns.time) if name is not None]
    rows, shown = (
        pd.MultiIndex.from_arrays([frame[name] for name in names])
        for frame in (chosen.to_dataframe(), forecast.observations)
    )
    return forecaster.predict(
        as_new(chosen.rows(rows.isin(shown))),
        dict(zip(labels, times, strict=True)),
        num_samples=forecast.mixture.means.shape[0],
    )
