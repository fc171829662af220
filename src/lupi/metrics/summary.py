"""From one number per system, or per seed, to a mean and how sure it is."""

from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    stderr: float | None
    """None where a single value leaves it unknown."""

    def root(self) -> "Estimate":
        """Of the square root, such as that of a mean squared error."""
        root = float(np.sqrt(self.mean))
        return Estimate(
            root, None if self.stderr is None or root == 0 else self.stderr / (2 * root)
        )


def estimate(values) -> Estimate:
    """The mean of independent values and its standard error."""
    values = np.asarray(values, dtype=np.float64)
    if values.size < 2:
        return Estimate(float(values.mean()), None)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


def estimate_ratio(numerators, denominators) -> Estimate:
    r"""The mean of some values over the mean of others, in pairs, and its standard error.

    By the delta method: that of the mean of $(a_i - r b_i) / \bar b$, where r is the ratio.
    """
    numerators, denominators = (
        np.asarray(values, dtype=np.float64) for values in (numerators, denominators)
    )
    middle = denominators.mean()
    ratio = float(numerators.mean() / middle)
    return Estimate(ratio, estimate((numerators - ratio * denominators) / middle).stderr)


class Interval(NamedTuple):
    """A mean and where it lies with a certain confidence."""

    mean: float
    lower: float | None
    upper: float | None
    """None where a single value leaves them unknown."""

    @property
    def sign(self) -> int:
        """1 if all of it lies above 0, -1 if below, and 0 if it cannot be told."""
        if self.lower is None or self.upper is None or self.lower <= 0 <= self.upper:
            return 0
        return 1 if self.lower > 0 else -1


def interval(values, *, level: float = 0.95) -> Interval:
    """The mean of independent values, such as differences of pairs, and Student's interval."""
    mean, stderr = estimate(values)
    if stderr is None:
        return Interval(mean, None, None)
    from scipy.special import stdtrit  # a fifth of a second, for the few who ask

    reach = float(stdtrit(np.size(values) - 1, (1 + level) / 2)) * stderr
    return Interval(mean, mean - reach, mean + reach)
