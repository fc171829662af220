"""How well several privileged values are recovered."""

import numpy as np

from lupi.data import Observations, Task
from lupi.distributions import Normal
from lupi.evaluation import judge_recovered
from lupi.models import Findings


def test_values_count_alike_and_unknown_ones_not_at_all():
    truth = np.array([[1.0, 100.0], [2.0, 300.0], [3.0, np.nan], [np.nan, np.nan]], np.float32)
    seen = Observations(np.zeros((4, 1), np.float32), np.zeros((4, 1, 1), np.float32))
    # Of the first value all are a half off, the second is told exactly.
    loc = np.nan_to_num(truth) + np.array([0.5, 0.0])
    found = Normal(loc[:, None].repeat(3, axis=1), np.full((4, 3, 2), 0.1))
    none = np.ones(4)
    judged = judge_recovered(Findings(found, none, none, none), Task(seen, truth))
    share = 0.25 / np.var([1.0, 2.0, 3.0])
    expected = np.mean([share / 2, share / 2, share])
    np.testing.assert_allclose(judged["recovered_error"].mean, expected, rtol=1e-5)
    np.testing.assert_allclose(judged["recovered_coverage_90"].mean, np.mean([0.5, 0.5, 0.0]))
