"""Error, calibration, sharpness and proper scores, as functions of arrays."""

from lupi.metrics.calibration import (
    calibration_curve,
    calibration_error,
    coverage,
    mixture_pit,
    normal_pit,
    pooled_calibration_error,
    pooled_calibration_error_stderr,
)
from lupi.metrics.error import mean_squared_error
from lupi.metrics.scores import crps, log_likelihood
from lupi.metrics.sharpness import sharpness, sharpness_variance
from lupi.metrics.summary import Estimate, estimate

__all__ = [
    "Estimate",
    "calibration_curve",
    "calibration_error",
    "coverage",
    "crps",
    "estimate",
    "log_likelihood",
    "mean_squared_error",
    "mixture_pit",
    "normal_pit",
    "pooled_calibration_error",
    "pooled_calibration_error_stderr",
    "sharpness",
    "sharpness_variance",
]
