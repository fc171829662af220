"""What was found out of a system beside its trajectory."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from lupi._machinery.notebooks import as_html, first_rows
from lupi.data.normalisation import Normalisation
from lupi.data.problems import listed
from lupi.data.series_table import Columns
from lupi.distributions import NormalMixture

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Recovered:
    """The privileged values of each series, as far as its observations tell, in original units.

    They go with the forecast: each sample of the system has its trajectory and its values.
    """

    columns: Columns
    """With the privileged columns of training."""
    normalisation: Normalisation
    labels: np.ndarray
    """Of the series."""
    mixture: NormalMixture
    """In the model's units: of shape (sample, series, privileged)."""

    def __repr__(self) -> str:
        names = listed(self.columns.privileged, most=5)
        return f"<Recovered: {names:.200} of {len(self.labels)} series>"

    def _repr_html_(self) -> str:
        return as_html(self, lambda: first_rows(self.to_dataframe()))

    @property
    def mean(self) -> Float[np.ndarray, "series privileged"]:
        """The mean of each value."""
        return self.normalisation.to_original_privileged(self.mixture.mean)

    @property
    def std(self) -> Float[np.ndarray, "series privileged"]:
        """The standard deviation of each value."""
        return self.mixture.std * np.array(self.normalisation.privileged_scale)

    @property
    def samples(self) -> Float[np.ndarray, "sample series privileged"]:
        """Possible values, one of each sample of the system."""
        rng = np.random.default_rng(0)
        noise = rng.standard_normal(self.mixture.means.shape)
        draws = self.mixture.means + self.mixture.scales * noise
        return self.normalisation.to_original_privileged(draws)

    def interval(
        self, *, coverage: float = 0.9
    ) -> tuple[Float[np.ndarray, "series privileged"], Float[np.ndarray, "series privileged"]]:
        """The lower and upper ends of the central interval with this share of the probability."""
        lower, upper = self.mixture.interval(coverage=coverage)
        to_original = self.normalisation.to_original_privileged
        return to_original(lower), to_original(upper)

    def select(self, chosen: np.ndarray) -> "Recovered":
        """Those of some series."""
        parts = (part[:, chosen] for part in (self.mixture.means, self.mixture.scales))
        mixture = NormalMixture(*parts)
        return Recovered(self.columns, self.normalisation, self.labels[chosen], mixture)

    def to_dataframe(self, *, coverage: float = 0.9) -> "pd.DataFrame":
        """A row for each series: of each privileged column mean, std, lower and upper."""
        import pandas as pd

        columns = {} if self.columns.series is None else {self.columns.series: self.labels}
        lower, upper = self.interval(coverage=coverage)
        for j, name in enumerate(self.columns.privileged):
            columns |= {
                name: self.mean[:, j],
                f"{name}_std": self.std[:, j],
                f"{name}_lower": lower[:, j],
                f"{name}_upper": upper[:, j],
            }
        return pd.DataFrame(columns, index=range(len(self.labels)))
