"""What is forecast, in original units and with the original labels."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi._machinery.notebooks import as_html, first_rows, picture
from lupi.data.normalisation import Normalisation
from lupi.data.original_units import in_original_units
from lupi.data.problems import listed, shown
from lupi.data.series_table import Columns
from lupi.distributions import NormalMixture, draw_components
from lupi.errors import UserError
from lupi.forecasting.levels import check_levels, level_name
from lupi.forecasting.questions import MOST_SEEN
from lupi.forecasting.recovered import Recovered
from lupi.forecasting.refusals import COLUMN, refusal, with_refused
from lupi.inference.surprise import STRANGE
from lupi.prediction import as_keys

DOUBTFUL = 0.1
"""The share of samples that count, below which they are the model's best guess and no more."""

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure


def forecast_columns(columns: Columns, levels: Sequence[float] = ()) -> list[str]:
    """The names of a forecast's columns as a table: series, time, four for each observed column,
    and one for each level of a quantile."""
    names = [name for name in (columns.series, columns.time) if name is not None]
    endings = ["_std", "_lower", "_upper", *(f"_{level_name(level)}" for level in levels)]
    for name in columns.observed:
        names += [name, *(name + ending for ending in endings)]
    twice = sorted({name for name in names if [*names, COLUMN].count(name) > 1})
    if twice:
        raise UserError(
            f"a forecast has a mean, {', '.join(f'`{e}`' for e in endings)} for each observed "
            f"column, so {', '.join(twice)} would be there twice: rename it in the table."
        )
    return names


NEAR, ALIKE = 0.1, 0.9
"""In spans of the training data: how far what a model has wrong at one time reaches to others; and
how much of it is the same at the same time."""


def information_gain(
    mixture: NormalMixture,
    spans: Float[np.ndarray, " row"],
    seen: Float[np.ndarray, " observation"],
) -> Float[np.ndarray, " row"]:
    """What an observation of all columns would tell of the system, at each row, in nats.

    The mixture's components are the systems that it could be; their means scatter by what an
    observation there can tell apart. As if all were Gaussian. Near an observation that was seen
    already, what the model has wrong is the same again, and one more tells the less: as if the
    noise were larger there.
    """
    means, scales = np.moveaxis(np.asarray(mixture.means, float), 0, -1), mixture.scales
    noise = np.sqrt((np.asarray(scales, float) ** 2).mean(axis=0))
    apart = np.abs(np.asarray(spans)[:, None] - seen).min(axis=1, initial=np.inf)
    noise = noise / np.sqrt(1 - (ALIKE * np.exp(-0.5 * (apart / NEAR) ** 2)) ** 2)[:, None]
    apart = (means - means.mean(axis=-1, keepdims=True)) / noise[..., None]
    scatter = apart @ np.swapaxes(apart, -1, -2) / means.shape[-1]
    return 0.5 * np.linalg.slogdet(np.eye(scatter.shape[-1]) + scatter)[1]


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
    spans: np.ndarray
    """Of each row, its time in spans of the training data: beyond 1 nothing was ever seen, and
    intervals of a blended forecaster grow by how far beyond it is."""
    key: PRNGKeyArray
    """Of the noise in `samples`, the same for every series."""
    observations: "pd.DataFrame"
    """What the forecast was made from, in long format."""
    seen_spans: np.ndarray
    """Of each observation, its time in spans of the training data."""
    privileged: Recovered | None = None
    """The privileged values of training, recovered from the observations; none where training had
    none."""
    surprise: Float[np.ndarray, " series"] | None = None
    """Of each series, the share of systems like those of training that are as hard to explain as
    it is, or harder: a p-value. Near 0 the forecast is of a kind of system it does not know."""
    effective_share: Float[np.ndarray, " series"] | None = None
    """Of each series, how many of the samples count. Far below 1 (`DOUBTFUL`) they are the model's
    best guess, and not the distribution that follows from its observations."""
    refused: dict[Any, str] = field(default_factory=dict)
    """Series that could not be forecast, by label, with the reason."""
    unlike: dict[Any, str] = field(default_factory=dict)
    """What is known of series, by label, that was known of none in training."""
    learnt_from: tuple[int, int] = (0, MOST_SEEN)
    """The least and the largest number of observations that training forecasts from."""

    @property
    def mean(self) -> Float[np.ndarray, "row observed"]:
        """The mean at each time."""
        if self.normalisation.limits:
            return in_original_units(self.mixture, self.normalisation).mean
        return self.normalisation.to_original_values(self.mixture.mean)

    @property
    def std(self) -> Float[np.ndarray, "row observed"]:
        """The standard deviation at each time, noise included."""
        if self.normalisation.limits:
            return in_original_units(self.mixture, self.normalisation).std
        return self.mixture.std * np.array(self.normalisation.observed_scale)

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
        return densities + self.normalisation.log_slopes(values)

    @cached_property
    def samples(self) -> Float[np.ndarray, "sample row observed"]:
        """Possible noisy series, each of one sample of the system."""
        number, _, observed = self.mixture.means.shape
        shape = (number, int(self.positions.max()) + 1, observed)
        standard = NormalMixture(*(np.broadcast_to(float(number), shape) for number in (0, 1)))
        noise = draw_components(standard, self.key)
        draws = self.mixture.means + self.mixture.scales * noise[:, self.positions]
        return self.normalisation.to_original_values(draws)

    @property
    def series(self) -> list:
        """The labels of the series, in order."""
        return list(self._rows)

    @cached_property
    def _rows(self) -> dict[Any, slice]:
        """The rows of each series."""
        begins = np.flatnonzero(np.append(True, self.labels[1:] != self.labels[:-1]))
        labels, ends = self.labels[begins].tolist(), [*begins[1:].tolist(), len(self.labels)]
        return dict(zip(labels, map(slice, begins.tolist(), ends), strict=True))

    @cached_property
    def _places(self) -> dict[Any, int]:
        """Of each series among all."""
        return {label: place for place, label in enumerate(self.series)}

    @cached_property
    def _seen(self) -> dict[Any, np.ndarray]:
        """The rows of the observations of each series."""
        if self.columns.series is None:
            return {self.series[0]: np.arange(len(self.observations))}
        return dict(self.observations.groupby(self.columns.series).indices)

    def __len__(self) -> int:
        """How many series there are."""
        return len(self.series)

    def __getstate__(self) -> dict[str, Any]:
        # Keys cannot be pickled, the numbers that they stand for can.
        return self.__dict__ | {"key": np.asarray(jax.random.key_data(self.key))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"key": as_keys(state["key"])})

    def __repr__(self) -> str:
        rows = f"{len(self.times)} rows of {self.columns.in_words()}"
        refused = f"; {len(self.refused)} series refused" if self.refused else ""
        number = len(self.mixture.means)
        return f"<Forecast: {len(self)} series, {rows}; {number} samples{refused}>"

    def _repr_html_(self) -> str:
        return as_html(self, lambda: picture(self.plot()), lambda: first_rows(self.to_dataframe()))

    def __getitem__(self, label) -> "Forecast":
        """The forecast of one series."""
        if not isinstance(label, Hashable):
            raise UserError(f"expected the label of a series, got {label!r:.40}.")
        if label in self.refused:
            raise UserError(refusal(self.columns, label, self.refused[label]))
        if label not in self._rows:
            known = ", ".join(map(shown, self.series[:5]))
            raise UserError(f"there is no series {shown(label)} in this forecast, but {known}.")
        rows, seen = self._rows[label], self._seen[label]
        among = np.array([self._places[label]])
        means, scales = self.mixture.means[:, rows], self.mixture.scales[:, rows]
        return replace(
            self,
            labels=self.labels[rows],
            times=self.times[rows],
            mixture=NormalMixture(means, scales),
            positions=self.positions[rows],
            spans=self.spans[rows],
            observations=self.observations.iloc[seen],
            seen_spans=self.seen_spans[seen],
            privileged=None if self.privileged is None else self.privileged.select(among),
            surprise=None if self.surprise is None else self.surprise[among],
            effective_share=None if self.effective_share is None else self.effective_share[among],
            refused={},
        )

    @property
    def warnings(self) -> list[str]:
        """Why intervals may be too narrow, each as a sentence: times, numbers of observations or
        known values that training knows nothing of, and series of which too few samples count."""
        found = []
        beyond = int((self.spans > 1 + 1e-6).sum())
        if beyond:
            found.append(
                f"{beyond} of {len(self.times)} times lie beyond the time of the training data, by "
                f"up to {self.spans.max() - 1:.2g} times its span: nothing was ever seen there, "
                "and intervals only say that it is uncertain."
            )
        numbers = self._numbers_seen
        least, most = self.learnt_from
        for kind, which in (("few", numbers < least), ("many", numbers > most)):
            if which.any():
                label = self.series[int(np.argmax(which))]
                name = "the series" if self.columns.series is None else f"series {shown(label)}"
                more = f", and {which.sum() - 1} others as {kind}" if which.sum() > 1 else ""
                found.append(
                    f"{name} has {numbers[np.argmax(which)]:,} observations{more}: the model has "
                    f"learnt to forecast from {least} to {most}, and intervals may be too narrow."
                )
        unlike = [label for label in self.series if label in self.unlike]
        if unlike:
            more = f", and {len(unlike) - 1} others are as far out" if len(unlike) > 1 else ""
            found.append(
                refusal(self.columns, unlike[0], self.unlike[unlike[0]])
                + f"{more}: what follows from it was never seen, and intervals may be too narrow."
            )
        doubtful = self._doubtful
        if doubtful:
            some = "" if self.columns.series is None else f" of {listed(doubtful)}"
            found.append(
                f"the samples{some} are the model's best guess and not the distribution that "
                f"follows from the observations: of them less than {DOUBTFUL:.0%} count "
                "(`effective_share`)."
            )
        if (numbers > MOST_SEEN).any():
            found.append(
                f"of series with more than {MOST_SEEN:,} observations as many were used, at even "
                "distances."
            )
        return found

    @cached_property
    def _numbers_seen(self) -> np.ndarray:
        """The number of observations of each series."""
        if self.columns.series is None:
            return np.array([len(self.observations)])
        counts = self.observations[self.columns.series].value_counts()
        return np.array([counts.get(label, 0) for label in self.series], int)

    @property
    def _doubtful(self) -> list:
        """The labels of series of which hardly any samples count."""
        if self.effective_share is None:
            return []
        each = zip(self.series, self.effective_share, strict=True)
        return [label for label, share in each if share < DOUBTFUL]

    @property
    def strangers(self) -> list:
        """The labels of series that hardly any system like those of training resembles."""
        if self.surprise is None:
            return []
        return [one for one, p in zip(self.series, self.surprise, strict=True) if p < STRANGE]

    def best_next_time(self) -> "pd.DataFrame":
        """When to look next: of each series, the time at which one observation would tell most.

        Among the times of the forecast. `gain` is the information about the system that an
        observation of all columns there is expected to give, in nats: half the logarithm of the
        determinant of its covariance, over that of the noise alone.
        """
        import pandas as pd

        means, scales, rows = self.mixture.means, self.mixture.scales, []
        for label, there in self._rows.items():
            mixture = NormalMixture(means[:, there], scales[:, there])
            seen = self.seen_spans[self._seen[label]]
            gains = information_gain(mixture, self.spans[there], seen)
            best = np.argmax(gains)
            named = {} if self.columns.series is None else {self.columns.series: label}
            when = self.times[there.start + best]
            rows.append(named | {self.columns.time: when, "gain": gains[best]})
        return pd.DataFrame(rows)

    def systems(self, *, coverage: float = 0.9) -> "pd.DataFrame":
        """What was found of each series: its surprise, its privileged values, effective samples."""
        import pandas as pd

        columns = {} if self.columns.series is None else {self.columns.series: self.series}
        table = pd.DataFrame(columns, index=range(len(self)))
        if self.privileged is not None:
            found = self.privileged.to_dataframe(coverage=coverage)
            for name in found.columns:
                table[name] = found[name]
        for name in ("surprise", "effective_share"):
            values = getattr(self, name)
            if values is not None:
                table[name] = values
        return with_refused(table, self.refused, self.columns.series)

    def to_dataframe(
        self, *, coverage: float = 0.9, quantiles: Sequence[float] = ()
    ) -> "pd.DataFrame":
        """Long format: series, time, and for each observed column mean, std, lower and upper.

        `quantiles` are levels to be added, each as a column such as `x_q0.1`. Where series were
        refused there is a row for each, empty but for its label, and a last column `refused` with
        the reason.
        """
        import pandas as pd

        levels = check_levels(quantiles)
        names = forecast_columns(self.columns, levels)
        columns: list[Any] = [] if self.columns.series is None else [self.labels]
        columns.append(pd.DatetimeIndex(self.times) if self.columns.datetime else self.times)
        parts = [self.mean, self.std, *self.interval(coverage=coverage)]
        parts += [*self.quantile(levels)] if levels else []
        for i in range(len(self.columns.observed)):
            columns += [part[:, i] for part in parts]
        table = pd.DataFrame(dict(zip(names, columns, strict=True)))
        return with_refused(table, self.refused, self.columns.series)

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
        from lupi.forecasting.picture import draw

        return draw(self, self.series[:largest], coverage)
