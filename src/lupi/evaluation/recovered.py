"""How well privileged values are recovered."""

import numpy as np

from lupi.data import Task
from lupi.distributions import NormalMixture
from lupi.metrics import Estimate, estimate
from lupi.models import Findings


def judge_recovered(findings: Findings | None, tasks: Task) -> dict[str, Estimate]:
    """Of the first privileged value: `recovered_error`, the squared error over the variance of the
    value (R² is 1 less that), and `recovered_coverage_90` of its interval; and of the samples
    `effective_share`. Nothing of predictions without findings."""
    if findings is None:
        return {}
    found = {"effective_share": estimate(np.asarray(findings.effective_share))}
    if findings.privileged is None:
        return found
    # As one quantity at one time.
    parts = (
        np.asarray(part)[..., :1, None]
        for part in (findings.privileged.loc, findings.privileged.scale)
    )
    mixture = NormalMixture(*parts)
    truth = tasks.privileged[:, :1, None]
    there = ~np.isnan(truth[:, 0, 0])
    errors = (mixture.mean - truth)[there, 0, 0] ** 2 / np.nanvar(truth)
    below = np.asarray(mixture.probability_below(np.nan_to_num(truth)))[there, 0, 0]
    found["recovered_error"] = estimate(errors)
    found["recovered_coverage_90"] = estimate(np.abs(below - 0.5) <= 0.45)
    return found
