"""By how much what the networks say is widened, in numbers."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lupi._machinery.module_arrays import module_of
from lupi.blending import Calibration
from lupi.blending.calibration import features
from lupi.forecasting.fitted import NETWORKS
from lupi.forecasting.fitted_file import CALIBRATION, WHOLE

PLACES = ((5, 0.0), (5, 0.5))
"""Points seen, and how far beyond the last of them, in spans of the training data."""


class Widening(NamedTuple):
    """The factor on the width of the networks' 90 % intervals at one place."""

    seen: int
    beyond: float
    factor: float

    def __str__(self) -> str:
        """The factor and the place."""
        where = "near the last of them" if self.beyond == 0 else f"{self.beyond:g} of a span beyond"
        return f"{self.factor:.2f} times as wide, from {self.seen} points, {where}"


def widening(own: Calibration, whole: Calibration) -> list[Widening]:
    """From the calibration of the networks and that of the blend they are a part of."""
    found = []
    for seen, beyond in PLACES:
        at = features(float(seen), np.array(beyond))
        factor = own.factors_of(at) * whole.factors_of(at)
        tails = _tails(np.asarray(own.widths, float)) * _tails(np.asarray(whole.widths, float))
        found.append(Widening(seen, beyond, float(factor * tails)))
    return found


def read_widening(arrays: Mapping[str, np.ndarray], complaint: str) -> list[Widening]:
    """That of a forecaster by the arrays of its file, without all that forecasts."""
    own = module_of(Calibration, arrays, f"{CALIBRATION}{NETWORKS}.", complaint, {})
    whole = module_of(Calibration, arrays, WHOLE, complaint, {})
    return [] if own is None or whole is None else widening(own, whole)


def _tails(widths: np.ndarray) -> float:
    """How much wider a 90 % interval is where each sample has a width of its own."""
    from scipy.optimize import root_scalar
    from scipy.special import ndtr, ndtri

    normal = float(ndtri(0.95))
    ends = normal * float(widths.min()) * 0.99, normal * float(widths.max()) * 1.01
    found = root_scalar(lambda end: ndtr(end / widths).mean() - 0.95, bracket=ends)
    return float(found.root) / normal
