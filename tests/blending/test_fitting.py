"""How a blend is fitted, and what it is judged by."""

import copy

import jax
import numpy as np
import pandas as pd
import pytest

import lupi
from lupi.blending import Blend, Calibration, OutOfFold
from lupi.blending.fitting import (
    FEW,
    GROUPS,
    Answers,
    Mixing,
    _groups,
    blended_by_others,
    fit_blending,
    widened_by_others,
)
from lupi.data.held_out import leave_out_in_turns
from lupi.data.normalisation import Normalisation
from lupi.distributions import NormalMixture
from lupi.models import MeanTrajectory


def asked(number: int, points: int = 6) -> OutOfFold:
    """Questions about runs of noise."""
    rng = np.random.default_rng(number)
    runs = pd.DataFrame(
        {
            "run": np.repeat(np.arange(number), points),
            "t": np.tile(np.linspace(0, 1, points), number),
            "x": rng.normal(size=number * points),
        }
    )
    table = lupi.read_series(runs, series="run", time="t", observed="x")
    divided = leave_out_in_turns(table, 2, number // 2, rng=np.random.default_rng(0))
    return OutOfFold.of(divided, Normalisation.of(table), key=jax.random.key(0))


def guesses(folds: OutOfFold, number: int) -> list[Answers]:
    """Answers that have nothing to do with the runs: each guess has a value for each of them."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(number):
        of_runs = rng.normal(size=folds.series.max() + 1)[folds.series]
        shape = (len(folds.series), 64, *folds.values.shape[1:])
        means = np.broadcast_to(of_runs[:, None, None, None], shape)
        found.append(Answers.of(folds, NormalMixture(means, np.full(shape, 0.3))))
    return found


@pytest.mark.parametrize(("number", "groups"), [(4, 4), (FEW, FEW), (FEW + 2, GROUPS)])
def test_each_run_is_in_one_group(number, groups):
    folds = asked(number)
    found = np.stack(list(_groups(folds)))
    assert len(found) == groups
    np.testing.assert_array_equal(found.sum(axis=0), 1)
    for run in range(number):
        assert len(np.unique(found[:, folds.series == run], axis=1).T) == 1


def test_answers_about_a_run_do_not_depend_on_it():
    folds = asked(10)
    parts = guesses(folds, 3)
    before = blended_by_others(folds, parts)
    changed = copy.copy(folds)
    own = folds.series == 3
    changed.values = np.where(own[:, None, None], folds.values + 5, folds.values)
    after = blended_by_others(changed, [Answers.of(changed, part.mixture) for part in parts])
    np.testing.assert_array_equal(after.means[own], before.means[own])
    np.testing.assert_array_equal(after.scales[own], before.scales[own])
    assert not np.array_equal(after.means, before.means)


def test_widths_of_a_run_do_not_depend_on_it():
    folds = asked(10)
    (part,) = guesses(folds, 1)
    before = widened_by_others(folds, part.mixture)
    changed = copy.copy(folds)
    own = folds.series == 3
    changed.values = np.where(own[:, None, None], folds.values + 5, folds.values)
    after = widened_by_others(changed, part.mixture)
    np.testing.assert_array_equal(after.scales[own], before.scales[own])
    assert (after.scales[~own] != before.scales[~own]).any()


def test_what_suits_a_run_by_chance_is_not_taken_for_knowledge():
    folds = asked(10)
    networks, *plain = guesses(folds, 8)
    parts = [networks, *plain]
    flattered = folds.mean(Mixing.of(folds, parts).blended(folds, parts).crps(folds.values))
    honest = folds.mean(blended_by_others(folds, parts).crps(folds.values))
    assert flattered < 0.97 * honest
    # Both the width of the whole and what is told of it are the honest ones.
    at_points = np.zeros((len(folds.series), 64, folds.contexts.ts.shape[1], 1))
    both = NormalMixture(
        np.concatenate([networks.mixture.means, at_points], axis=2),
        np.concatenate([networks.mixture.scales, at_points + 0.3], axis=2),
    )
    named = {str(i): part.mixture for i, part in enumerate(plain)}
    found = fit_blending(folds, both, named, "lupi")
    assert found.judged["blend"].crps > flattered
    assert found.judged["blend"].coverage_90 > 0.85


def test_of_one_run_its_own_answers_are_all_there_is():
    folds = asked(4).only(asked(4).series == 0)
    parts = guesses(folds, 2)
    alone = Mixing.of(folds, parts).blended(folds, parts)
    np.testing.assert_array_equal(blended_by_others(folds, parts).means, alone.means)


def test_a_blend_weighs_its_parts_as_it_was_fitted():
    folds = asked(12)
    mixing = Mixing.of(folds, guesses(folds, 2))
    anyone = MeanTrajectory(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1)))
    none = Calibration.none()
    blend = Blend((anyone, anyone), tuple(mixing.shares), (none, none), none)
    found = jax.vmap(blend.weights)(folds.contexts)
    np.testing.assert_allclose(found, mixing.weights(folds), atol=1e-5)
    assert np.ptp(np.asarray(found)[:, 0]) > 0.01
    assert not folds.contexts.mask.any(axis=1).all()  # also where nothing is seen
