"""What is forecast, in original units and with the original labels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from lupi.data.series_table import Columns
from lupi.errors import UserError
from lupi.prediction import mixture_quantiles

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure


def forecast_columns(columns: Columns) -> list[str]:
    """The names of a forecast's columns as a table: series, time, four for each observed column."""
    names = [name for name in (columns.series, columns.time) if name is not None]
    for name in columns.observed:
        names += [name, f"{name}_std", f"{name}_lower", f"{name}_upper"]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(
            f"a forecast has a mean, `_std`, `_lower` and `_upper` for each observed column, so "
            f"{', '.join(twice)} would be there twice: rename it in the table."
        )
    return names


@dataclass(frozen=True)
class Forecast:
    """The distribution of each observed column at each time, of one or several series.

    Rows are times; those of several series follow one another, and `forecast[label]` is one of
    them. It is the mixture, over samples of what the model could not tell from the observations, of
    Normal distributions: it holds the uncertainty about the system and the noise of observing it.
    """

    columns: Columns
    labels: np.ndarray
    """Of the series, one for each row."""
    times: np.ndarray
    """Of each row: numbers, or dates where the observations had dates."""
    decoded_means: Float[np.ndarray, "sample row observed"]
    decoded_scales: Float[np.ndarray, "sample row observed"]
    samples: Float[np.ndarray, "sample row observed"]
    """Possible noisy series, each of one sample of the system."""
    observations: "pd.DataFrame"
    """What the forecast was made from, in long format."""

    @property
    def mean(self) -> Float[np.ndarray, "row observed"]:
        """The mean at each time."""
        return self.decoded_means.mean(axis=0)

    @property
    def std(self) -> Float[np.ndarray, "row observed"]:
        """The standard deviation at each time, noise included."""
        return np.sqrt(self.decoded_means.var(axis=0) + (self.decoded_scales**2).mean(axis=0))

    def quantile(self, level: float | list[float]) -> np.ndarray:
        """The values below which this share of the probability lies; a list gives one each."""
        levels = np.atleast_1d(np.asarray(level, float))
        values = mixture_quantiles(self.decoded_means, self.decoded_scales, levels)
        return values if np.ndim(level) else values[0]

    def interval(
        self, *, coverage: float = 0.9
    ) -> tuple[Float[np.ndarray, "row observed"], Float[np.ndarray, "row observed"]]:
        """The lower and upper ends of the central interval with this share of the probability."""
        if not 0 < coverage < 1:
            raise UserError(f"coverage must be between 0 and 1, got {coverage}: try 0.9.")
        lower, upper = self.quantile([(1 - coverage) / 2, (1 + coverage) / 2])
        return lower, upper

    def probability_below(
        self, values: Float[np.ndarray, "row observed"]
    ) -> Float[np.ndarray, "row observed"]:
        """The probability of a value below each of these; NaN stays NaN."""
        from scipy.special import ndtr

        return ndtr((values - self.decoded_means) / self.decoded_scales).mean(axis=0)

    def log_density(
        self, values: Float[np.ndarray, "row observed"]
    ) -> Float[np.ndarray, "row observed"]:
        """The logarithm of the probability density at each of these; NaN stays NaN."""
        from scipy.special import logsumexp

        z = (values - self.decoded_means) / self.decoded_scales
        densities = -0.5 * (z**2 + np.log(2 * np.pi)) - np.log(self.decoded_scales)
        return logsumexp(densities, axis=0) - np.log(len(densities))

    @property
    def series(self) -> list:
        """The labels of the series, in order."""
        return list(dict.fromkeys(self.labels.tolist()))

    def __len__(self) -> int:
        """How many series there are."""
        return len(self.series)

    def __getitem__(self, label) -> "Forecast":
        """The forecast of one series."""
        rows = self.labels == label
        if not rows.any():
            known = ", ".join(map(str, self.series[:5]))
            raise UserError(f"there is no series {label!r} in this forecast, but {known}.")
        seen = self.observations
        name = self.columns.series
        return Forecast(
            self.columns,
            self.labels[rows],
            self.times[rows],
            self.decoded_means[:, rows],
            self.decoded_scales[:, rows],
            self.samples[:, rows],
            seen if name is None else seen.loc[seen[name] == label],
        )

    def to_dataframe(self, *, coverage: float = 0.9) -> "pd.DataFrame":
        """Long format: series, time, and for each observed column mean, std, lower and upper."""
        import pandas as pd

        columns: list[Any] = [] if self.columns.series is None else [self.labels]
        columns.append(pd.DatetimeIndex(self.times) if self.columns.datetime else self.times)
        parts = self.mean, self.std, *self.interval(coverage=coverage)
        for i in range(len(self.columns.observed)):
            columns += [part[:, i] for part in parts]
        return pd.DataFrame(dict(zip(forecast_columns(self.columns), columns, strict=True)))

    def to_xarray(self) -> "xr.Dataset":
        """Means, standard deviations and samples over the dimensions row, observed and sample."""
        import pandas as pd
        import xarray as xr

        times = self.times
        if self.columns.timezone is not None:  # xarray knows no timezones: UTC
            times = pd.DatetimeIndex(times).tz_convert("UTC").tz_localize(None).to_numpy()
        coordinates = {
            self.columns.time: ("row", times),
            "observed": list(self.columns.observed),
        }
        if self.columns.series is not None:
            coordinates[self.columns.series] = ("row", self.labels)
        return xr.Dataset(
            {
                "mean": (("row", "observed"), self.mean),
                "std": (("row", "observed"), self.std),
                "samples": (("sample", "row", "observed"), self.samples),
            },
            coords=coordinates,
            attrs={"units": str(self.columns.units)} if self.columns.units else {},
        )

    def plot(self, *, coverage: float = 0.9, largest: int = 4) -> "Figure":
        """Mean, interval and observations: a row of panels for each series, the first `largest`."""
        import matplotlib.pyplot as plt

        shown, names = self.series[:largest], self.columns.observed
        size = (3.6 * len(names), 2.6 * len(shown))
        figure, panels = plt.subplots(
            len(shown), len(names), figsize=size, squeeze=False, layout="constrained"
        )
        for row, label in zip(panels, shown, strict=True):
            one = self[label]
            order = np.argsort(one.times)
            lower, upper = one.interval(coverage=coverage)
            seen = one.observations
            for i, (panel, name) in enumerate(zip(row, names, strict=True)):
                times = one.times[order]
                band = f"{coverage:.0%} interval"
                panel.fill_between(
                    times, lower[order, i], upper[order, i], alpha=0.25, lw=0, label=band
                )
                panel.plot(times, one.mean[order, i], label="mean")
                panel.plot(seen[self.columns.time], seen[name], "ko", ms=4, label="observed")
                panel.set(
                    xlabel=self.columns.with_unit(self.columns.time),
                    ylabel=self.columns.with_unit(name),
                )
                if self.columns.series is not None:
                    panel.set_title(f"{self.columns.series} {label}")
        panels[0, 0].legend(frameon=False)
        return figure
