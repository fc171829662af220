"""Inference in the model's own simulator, where the answer is known in closed form."""

import equinox as eqx
import jax
import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.errors import UserError
from lupi.inference import Amortised, InferringPredictor, Refined, learn_family
from lupi.inference.mixture import mixture_of
from lupi.inference.trust import Trust
from lupi.models import Sample
from lupi.prediction import predict_many
from toy_processes import NOISE, Known

KEY = jax.random.key(0)


def family_of(process, spread: float = 1.0):
    """That of systems whose z follow a standard Gaussian."""
    rng = np.random.default_rng(0)
    z = (spread * rng.standard_normal((400, 2))).astype(np.float32)
    ts = np.linspace(0, 1, 6, dtype=np.float32)
    decoded = jax.jit(jax.vmap(lambda z: process.decode(Sample(z), ts).loc))(z)
    tasks = Task(Observations(np.tile(ts, (400, 1)), np.asarray(decoded)), z)
    family = learn_family(process, tasks)
    assert family is not None
    return family


def exact_prior(family):
    """The family with one Gaussian as its prior: exactly that of standard Gaussian z."""
    to_active = np.asarray(family.to_active, float)
    covariance = to_active @ to_active.T
    mean = -to_active @ np.asarray(family.centre, float)
    prior = mixture_of(np.zeros(1), mean[None], covariance[None])
    return eqx.tree_at(lambda family: family.prior, family, prior)


@pytest.fixture(scope="module")
def line():
    process = Known("line")
    return InferringPredictor(process, Refined(), exact_prior(family_of(process)))


def context_of(*points):
    ts, ys = (np.array(part, np.float32) for part in zip(*points, strict=True))
    return Observations(ts, ys[:, None])


def ask(predictor, context, times, num_samples=1024, **others):
    """A prediction, from arrays of one size for all: each size would be compiled again."""
    missing, wanted = 8 - len(context.ts), np.resize(np.asarray(times, np.float32), 3)
    gaps = np.zeros(context.ys.shape, bool) if context.gaps is None else context.gaps
    padded = Observations(
        np.pad(context.ts, (0, missing)),
        np.pad(context.ys, ((0, missing), (0, 0))),
        np.pad(context.mask, (0, missing)),
        np.pad(gaps, ((0, missing), (0, 0))),
    )
    contexts = jax.tree.map(lambda leaf: np.asarray(leaf)[None], padded)
    if others:
        contexts = Task(contexts, np.asarray(others["privileged"], np.float32)[None])
    return predict_many(predictor, contexts, wanted[None], num_samples=num_samples, keys=KEY)


def posterior(context):
    """Mean and covariance of (a, b), by the formulas of linear regression."""
    design = np.stack([np.ones_like(context.ts), context.ts], axis=1).astype(float)
    precision = np.eye(2) + design.T @ design / NOISE**2
    covariance = np.linalg.inv(precision)
    return covariance @ design.T @ context.ys[:, 0].astype(float) / NOISE**2, covariance


@pytest.mark.parametrize(
    "points",
    [
        [(0.3, 0.8)],
        [(0.1, 1.0), (0.2, 1.1)],
        [(0.0, -0.5), (0.4, 0.2), (0.5, 0.3), (0.9, 1.4), (1.0, 1.2)],
    ],
)
def test_a_linear_model_with_gaussian_noise_has_its_posterior(line, points):
    context = context_of(*points)
    times = np.array([0.0, 0.5, 1.0])
    found = ask(line, context, times)
    mean, covariance = posterior(context)
    design = np.stack([np.ones(3), times], axis=1)
    std = np.sqrt(np.einsum("ij,jk,ik->i", design, covariance, design))
    draws = np.asarray(found.means)[0, :, :, 0]
    np.testing.assert_allclose(draws.mean(axis=0), design @ mean, atol=4 * std.max() / 32)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)


def test_the_evidence_is_that_of_the_closed_form(line):
    context = context_of((0.1, 1.0), (0.2, 1.1), (0.9, 0.3))
    design = np.stack([np.ones(3), context.ts], axis=1).astype(float)
    covariance = design @ design.T + NOISE**2 * np.eye(3)
    y = context.ys[:, 0].astype(float)
    expected = -0.5 * (
        y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(2 * np.pi * covariance)[1]
    )
    found = ask(line, context, [0.5]).findings
    np.testing.assert_allclose(found.log_evidence[0], expected, atol=0.1)


def test_without_observations_it_is_the_prior(line):
    found = ask(line, Observations.none(1), [0.0, 1.0])
    draws = np.asarray(found.means)[0, :, :2, 0]
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=0.15)
    np.testing.assert_allclose(draws.std(axis=0), [1.0, np.sqrt(2)], rtol=0.1)
    assert found.findings.effective_share[0] > 0.9


SQUARE = Known("square")
"""y = a² + ...: the sign of a cannot be told."""


@pytest.fixture(scope="module")
def squares():
    return family_of(SQUARE)


def share_of_positive(family):
    context = context_of((0.0, 1.0), (0.5, 1.05), (1.0, 1.1))
    infer = eqx.filter_jit(Refined().infer)
    times = np.array([0.5], np.float32)
    how = {"num_samples": 512, "horizon": 1, "key": KEY}
    z = np.asarray(infer(SQUARE, family, context, times, **how).latents)[:, 0]
    np.testing.assert_allclose(np.abs(z).mean(), 1.0, atol=0.1)
    return (z > 0).mean()


def test_both_modes_are_found(squares):
    assert 0.25 < share_of_positive(squares) < 0.75


def test_both_modes_are_found_though_nearly_all_members_that_fit_lie_in_one(squares):
    z = squares.centre + squares.members @ squares.active_axes.T
    fitting = np.argsort(np.abs(z[:, 0] - 1))[:20]
    across = np.argmin(np.abs(z[:, 0] + 1))
    chosen = np.append(np.resize(fitting, len(z) - 1), across)
    parts = ("members", "means", "scales")
    fewer = eqx.tree_at(
        lambda family: [getattr(family, part) for part in parts],
        squares,
        [getattr(squares, part)[chosen] for part in parts],
    )
    assert 0.25 < share_of_positive(fewer) < 0.75


def test_the_right_one_of_many_optima_is_found_where_the_noise_is_small():
    """Much smaller than what tells a system from the member most like it."""
    process = Known("wave")
    predictor = InferringPredictor(process, Refined(), family_of(process))
    z = np.random.default_rng(1).standard_normal((40, 2)).astype(np.float32)
    ts = np.tile(np.array([0.02, 0.64, 0.74, 0.78, 0.9], np.float32), (40, 1))
    ys = np.sin((20 + 3 * z[:, :1]) * ts) + 0.1 * z[:, 1:]
    found = predict_many(predictor, Observations(ts, ys[..., None]), ts, num_samples=64, keys=KEY)
    values = np.asarray(found.findings.privileged.loc).mean(axis=1)
    assert (np.abs(values - z) < 0.05).all(axis=1).mean() > 0.97


def test_privileged_values_are_recovered_and_agree_with_the_closed_form(line):
    context = context_of((0.1, 1.0), (0.2, 1.1), (0.9, 0.3))
    mean, covariance = posterior(context)
    value = ask(line, context, [0.5]).findings.privileged
    assert value.loc.shape == (1, 1024, 2)
    std = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(value.loc[0].mean(axis=0), mean, atol=0.2 * std.max())
    total = np.sqrt(value.loc[0].var(axis=0) + (value.scale[0] ** 2).mean(axis=0))
    np.testing.assert_allclose(total, std, rtol=0.2)


def test_a_privileged_value_that_is_known_sharpens_the_prediction(line):
    context = context_of((0.1, 1.0))
    without = ask(line, context, [1.0])
    knowing = ask(line, context, [1.0], privileged=[np.nan, 0.5])
    assert knowing.std[0, 0, 0] < 0.3 * without.std[0, 0, 0]
    # y(1) = y(0.1) + 0.9 b, up to the noise of the one observation.
    np.testing.assert_allclose(knowing.mean[0, 0, 0], 1.0 + 0.9 * 0.5, atol=0.05)


def test_a_gap_tells_nothing(line):
    seen = context_of((0.1, 1.0), (0.9, 50.0))
    gap = Observations(seen.ts, seen.ys, gaps=np.array([[False], [True]]))
    one = ask(line, context_of((0.1, 1.0)), [1.0])
    other = ask(line, gap, [1.0])
    np.testing.assert_allclose(one.mean, other.mean, atol=0.2)
    np.testing.assert_allclose(one.std, other.std, rtol=0.15)


def test_a_family_must_be_known():
    predictor = InferringPredictor(Known("line"), Refined())
    with pytest.raises(UserError, match="learn_family"):
        ask(predictor, context_of((0.1, 1.0)), [1.0])
    assert np.isfinite(
        ask(InferringPredictor(Known("line"), Amortised()), context_of((0.1, 1.0)), [1.0]).means
    ).all()


def test_where_many_members_fit_the_draws_still_count(line):
    """A point so noisy that a third of all systems explain it: the prior alone would be a poor
    place to draw from, and what was found is a good one."""
    trust = Trust(
        *(np.array([value], np.float32) for value in (1.0, 0.5 / NOISE, 1.0)), np.ones(())
    )
    noisy = eqx.tree_at(lambda line: line.family.trust, line, trust)
    found = ask(noisy, context_of((0.0, 1.5)), [0.0, 1.0]).findings
    assert found.effective_share[0] > 0.5
