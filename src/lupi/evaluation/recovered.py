"""How well privileged values are recovered."""

import numpy as np
from jaxtyping import Float

from lupi.data import Task
from lupi.distributions import AnyArray, NormalMixture
from lupi.metrics import Estimate, estimate
from lupi.models import Findings


def judge_values(
    found: NormalMixture, truth: Float[AnyArray, "system value"]
) -> tuple[Float[np.ndarray, "system value"], Float[np.ndarray, "system value"]]:
    """Of each system and value, found in so many samples: the error of its mean, and whether its
    90 % interval holds the truth. NaN where the truth is not known."""
    truth = np.asarray(truth, float)
    known = ~np.isnan(truth)
    below = np.asarray(found.probability_below(np.nan_to_num(truth)))
    inside = np.where(known, np.abs(below - 0.5) <= 0.45, np.nan)
    return np.asarray(found.mean) - truth, inside


def judge_recovered(findings: Findings | None, tasks: Task) -> dict[str, Estimate]:
    """Of privileged values, in the mean over them: `recovered_error`, the squared error over the
    variance of the value (R² is 1 less that), and `recovered_coverage_90` of its interval; and of
    the samples `effective_share`. Nothing of predictions without findings."""
    if findings is None:
        return {}
    judged = {"effective_share": estimate(np.asarray(findings.effective_share))}
    if findings.privileged is None:
        return judged
    # Of many systems: samples are their second axis.
    parts = findings.privileged.loc, findings.privileged.scale
    found = NormalMixture(*(np.moveaxis(np.asarray(part), 1, 0) for part in parts))
    errors, inside = judge_values(found, tasks.privileged)
    known = ~np.isnan(errors).all(axis=1)
    shares = errors[known] ** 2 / np.nanvar(np.asarray(tasks.privileged, float), axis=0)
    judged["recovered_error"] = estimate(np.nanmean(shares, axis=1))
    judged["recovered_coverage_90"] = estimate(np.nanmean(inside[known], axis=1))
    return judged
