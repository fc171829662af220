"""Error, calibration, sharpness and proper scores, one number for each series and column.

Every metric takes a mask, `known`, of what was observed, and keeps the observed columns apart.
"""

from lupi.metrics.by_series import chance_band, pit_shares
from lupi.metrics.calibration import (
    CalibrationCurve,
    calibration_curve,
    calibration_error,
    coverage,
    paper_calibration_error,
    pooled_calibration_stderr,
    spread_pit,
)
from lupi.metrics.errors import squared_error
from lupi.metrics.masking import mean_over_columns, mean_over_time
from lupi.metrics.scores import crps, joint_log_likelihood, log_likelihood
from lupi.metrics.summary import Estimate, Interval, estimate, estimate_ratio, interval

__all__ = [
    "CalibrationCurve",
    "Estimate",
    "Interval",
    "calibration_curve",
    "calibration_error",
    "chance_band",
    "coverage",
    "crps",
    "estimate",
    "estimate_ratio",
    "interval",
    "joint_log_likelihood",
    "log_likelihood",
    "mean_over_columns",
    "mean_over_time",
    "paper_calibration_error",
    "pit_shares",
    "pooled_calibration_stderr",
    "spread_pit",
    "squared_error",
]
