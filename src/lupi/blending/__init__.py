"""From several networks and plain guesses to one forecast that can be trusted."""

from lupi.blending.blend import Blend
from lupi.blending.calibration import Calibration
from lupi.blending.correction import Corrected, Correction
from lupi.blending.ensemble import Ensemble, InUnits, Units
from lupi.blending.fitting import Blending, fit_blending
from lupi.blending.out_of_fold import Judged, OutOfFold
from lupi.blending.shares import Share

__all__ = [
    "Blend",
    "Blending",
    "Calibration",
    "Corrected",
    "Correction",
    "Ensemble",
    "InUnits",
    "Judged",
    "OutOfFold",
    "Share",
    "Units",
    "fit_blending",
]
