"""Table 1 of the paper, as printed, and the units it is printed in."""

from typing import NamedTuple

from lupi.metrics import Estimate


class PrintedRow(NamedTuple):
    """One row: the mean squared error, the calibration error and the sharpness."""

    mse: Estimate
    spread_calibration_error: Estimate
    spread_std: Estimate


def _row(mse, mse_error, calibration, calibration_error, sharpness) -> PrintedRow:
    return PrintedRow(
        Estimate(mse, mse_error),
        Estimate(calibration, calibration_error),
        Estimate(sharpness, None),
    )


TABLE_1: dict[tuple[str, str, str], PrintedRow] = {
    ("stiffness", "nopi", "test"): _row(1.05, 0.05, 0.51, 0.02, 6.88),
    ("stiffness", "lupi", "test"): _row(0.93, 0.04, 0.47, 0.02, 6.57),
    ("stiffness", "nopi", "train"): _row(0.16, 0.02, 2.69, 0.02, 1.00),
    ("stiffness", "lupi", "train"): _row(0.06, 0.01, 0.91, 0.02, 1.10),
    ("damping", "nopi", "test"): _row(2.82, 0.29, 0.84, 0.04, 2.15),
    ("damping", "lupi", "test"): _row(2.39, 0.09, 0.37, 0.02, 4.71),
    ("damping", "nopi", "train"): _row(0.56, 0.02, 1.56, 0.03, 0.93),
    ("damping", "lupi", "train"): _row(0.25, 0.01, 0.73, 0.03, 1.18),
    ("lotka-volterra", "nopi", "test"): _row(6.44, 0.44, 2.19, 0.05, 2.23),
    ("lotka-volterra", "lupi", "test"): _row(1.82, 0.13, 0.90, 0.04, 3.44),
    ("lotka-volterra", "nopi", "train"): _row(5.24, 0.30, 2.89, 0.04, 1.37),
    ("lotka-volterra", "lupi", "train"): _row(0.73, 0.02, 1.23, 0.04, 1.48),
}
"""By experiment, model and setting; `train` are the starred rows. Errors are over 500 systems."""

METRICS = ("mse", "spread_calibration_error", "spread_std")
"""The columns of Table 1; all but the last, sharpness, are better when smaller."""

MSE_EXPONENT = {"stiffness": -2, "damping": -3, "lotka-volterra": -3}
OTHER_MSE_EXPONENT = -2
"""Of experiments that are not the paper's."""
SHARPNESS_EXPONENT = -2


def printed(experiment: str, model: str, mode: str, metric: str) -> Estimate | None:
    """The value that the paper prints, in its unit; nothing for what is not in its table."""
    row = TABLE_1.get((experiment, model, mode))
    return None if row is None else getattr(row, metric)


def exponent(experiment: str, metric: str) -> int:
    """The power of ten that a metric is printed in."""
    if metric == "mse":
        return MSE_EXPONENT.get(experiment, OTHER_MSE_EXPONENT)
    return SHARPNESS_EXPONENT if metric == "spread_std" else 0


def unit(experiment: str, metric: str) -> float:
    """What one printed unit of a metric stands for."""
    return 10.0 ** exponent(experiment, metric)
