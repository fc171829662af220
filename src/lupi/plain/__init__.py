"""Plain guesses: what a model has to beat, each a predictor."""

from lupi.models import MeanTrajectory
from lupi.plain.last_value import LastValue
from lupi.plain.nearest_series import NearestSeries
from lupi.plain.pooled_gp import PooledGP

PLAIN: dict[str, type[MeanTrajectory | LastValue | NearestSeries | PooledGP]] = {
    "mean at that time": MeanTrajectory,
    "last value": LastValue,
    "nearest series": NearestSeries,
    "Gaussian process": PooledGP,
}
"""By the name that tables give them."""

__all__ = ["PLAIN", "LastValue", "NearestSeries", "PooledGP"]
