"""By how much what the networks say is widened, in numbers."""

from typing import NamedTuple

import numpy as np

from lupi.blending import Calibration
from lupi.blending.calibration import features
from lupi.distributions import NormalMixture

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
        factor = np.exp(at @ own.coefficients + at @ whole.coefficients)
        widths = (np.asarray(one.widths, float)[:, None, None] for one in (own, whole))
        # Widths that differ from sample to sample have tails that widen an interval too.
        tails = [_ninety_percent(width) / _ninety_percent(np.ones((1, 1, 1))) for width in widths]
        found.append(Widening(seen, beyond, float(factor * np.prod(tails))))
    return found


def _ninety_percent(scales: np.ndarray) -> float:
    return float(NormalMixture(np.zeros(scales.shape), scales).quantile(0.95)[0, 0])
