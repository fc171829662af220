"""What is forecast, in original units and with the original labels."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.data.normalisation import Normalisation
from lupi.data.problems import shown
from lupi.data.series_table import Columns
from lupi.distributions import NormalMixture, draw_components
from lupi.errors import UserError

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


@dataclass(frozen=True, eq=False)
class Forecast:
    """The distribution of each observed column at each time, of one or several series.

    Rows are times; those of several series follow one another, and `forecast[label]` is one of
    them. It is the mixture, over samples of what the model could not tell from the observations, of
    Normal distributions: it holds the uncertainty about the system and the noise of observing it.
    """

    columns: Columns
    normalisation: Normalisation
    labels: np.ndarray
    """Of the series, one for each row."""
    times: np.ndarray
    """Of each row: numbers, or dates where the observations had dates."""
    mixture: NormalMixture
    """In the model's units: of shape (sample, row, observed)."""
    positions: np.ndarray
    """Of each row among those of its series."""
    key: PRNGKeyArray
    """Of the noise in `samples`, the same for every series."""
    observations: "pd.DataFrame"
    """What the forecast was made from, in long format."""

    @property
    def mean(self) -> Float[np.ndarray, "row observed"]:
        """The mean at each time."""
        return self.normalisation.to_original_values(self.mixture.mean)

    @property
    def std(self) -> Float[np.ndarray, "row observed"]:
        """The standard deviation at each time, noise included."""
        return self.mixture.std * self._scale

    def quantile(self, level: float | list[float]) -> np.ndarray:
        """The values below which this share of the probability lies; a list gives one each."""
        return self.normalisation.to_original_values(self.mixture.quantile(level))

    def interval(
        self, *, coverage: float = 0.9
    ) -> tuple[Float[np.ndarray, "row observed"], Float[np.ndarray, "row observed"]]:
        """The lower and upper ends of the central interval with this share of the probability."""
        lower, upper = self.mixture.interval(coverage=coverage)
        to_original = self.normalisation.to_original_values
        return to_original(lower), to_original(upper)

    def probability_below(
        self, values: Float[np.ndarray, "row observed"]
    ) -> Float[np.ndarray, "row observed"]:
        """The probability of less than each of these values; NaN stays NaN."""
        return self.mixture.probability_below(self.normalisation.to_model_values(values))

    def log_density(
        self, values: Float[np.ndarray, "row observed"]
    ) -> Float[np.ndarray, "row observed"]:
        """The logarithm of the probability density at each of these values; NaN stays NaN."""
        densities = self.mixture.log_density(self.normalisation.to_model_values(values))
        return densities - np.log(self._scale)

    @cached_property
    def samples(self) -> Float[np.ndarray, "sample row observed"]:
        """Possible noisy series, each of one sample of the system."""
        number, _, observed = self.mixture.means.shape
        shape = (number, int(self.positions.max()) + 1, observed)
        noise = draw_components(NormalMixture(np.zeros(shape), np.ones(shape)), self.key)
        draws = self.mixture.means + self.mixture.scales * noise[:, self.positions]
        return self.normalisation.to_original_values(draws)

    @property
    def _scale(self) -> np.ndarray:
        return np.array(self.normalisation.observed_scale)

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
            known = ", ".join(map(shown, self.series[:5]))
            raise UserError(f"there is no series {shown(label)} in this forecast, but {known}.")
        seen, name = self.observations, self.columns.series
        means, scales = self.mixture.means[:, rows], self.mixture.scales[:, rows]
        return replace(
            self,
            labels=self.labels[rows],
            times=self.times[rows],
            mixture=NormalMixture(means, scales),
            positions=self.positions[rows],
            observations=seen if name is None else seen.loc[seen[name] == label],
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

        series, names = self.series[:largest], self.columns.observed
        size = (3.6 * len(names), 2.6 * len(series))
        figure, panels = plt.subplots(
            len(series), len(names), figsize=size, squeeze=False, layout="constrained"
        )
        for row, label in zip(panels, series, strict=True):
            one = self[label]
            order = np.argsort(one.times)
            mean, (lower, upper) = one.mean, one.interval(coverage=coverage)
            seen, times = one.observations, one.times[order]
            for i, (panel, name) in enumerate(zip(row, names, strict=True)):
                band = f"{coverage:.0%} interval"
                panel.fill_between(
                    times, lower[order, i], upper[order, i], alpha=0.25, lw=0, label=band
                )
                panel.plot(times, mean[order, i], label="mean")
                panel.plot(seen[self.columns.time], seen[name], "ko", ms=4, label="observed")
                panel.set(
                    xlabel=self.columns.with_unit(self.columns.time),
                    ylabel=self.columns.with_unit(name),
                )
                if self.columns.series is not None:
                    panel.set_title(f"{self.columns.series} {label}")
        panels[0, 0].legend(frameon=False)
        return figure
