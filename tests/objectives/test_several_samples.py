"""Objectives that take several z, against closed forms of a linear Gaussian process."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as numpyro
import pytest

from lupi.errors import UserError
from lupi.forecasting import forecaster_settings
from lupi.models import NeuralProcessSettings, build_process
from lupi.objectives import Elbo, ImportanceWeighted, MaximumLikelihood, Renyi
from lupi.registry import OBJECTIVES
from lupi.training import TrainingSettings, fit
from toy_processes import LinearGaussian

NOTHING = jnp.zeros(0)
SHIFT, STRETCH = 0.3, 1.7
WRONG = LinearGaussian(shift=SHIFT, stretch=STRETCH)
"""A posterior that is neither in the right place nor of the right width."""


def bounds(objective, process, split, number):
    """Values of a bound, each with other z."""
    keys = jax.random.split(jax.random.key(3), number)
    losses = eqx.filter_jit(jax.vmap(lambda key: objective(process, split, NOTHING, key=key)[0]))
    return -np.asarray(losses(keys), np.float64)


def mean_and_error(values):
    return values.mean(), values.std() / np.sqrt(values.size)


def test_maximum_likelihood_is_the_log_density_of_the_target_given_the_context(
    split, evidence_given_context
):
    found = bounds(MaximumLikelihood(num_samples=20_000), LinearGaussian(), split, 16)
    mean, error = mean_and_error(found)
    assert error < 0.01
    assert abs(mean - evidence_given_context) < 4 * error + 1e-3


@pytest.mark.parametrize("objective", [ImportanceWeighted(), Renyi(), Renyi(alpha=-1.0)])
def test_with_the_exact_posterior_every_sample_gives_the_log_marginal_likelihood(
    objective, without_context, evidence
):
    found = bounds(objective, LinearGaussian(), without_context, 5)
    np.testing.assert_allclose(found, evidence, rtol=1e-5)


def test_with_another_posterior_the_importance_weighted_bound_still_comes_to_it(
    without_context, evidence
):
    mean, error = mean_and_error(
        bounds(ImportanceWeighted(num_samples=20_000), WRONG, without_context, 16)
    )
    assert error < 0.01
    assert abs(mean - evidence) < 4 * error + 1e-3


def test_with_one_sample_the_importance_weighted_bound_is_the_papers_on_average(without_context):
    one, error = mean_and_error(
        bounds(ImportanceWeighted(num_samples=1), WRONG, without_context, 20_000)
    )
    paper, other = mean_and_error(bounds(Elbo(), WRONG, without_context, 20_000))
    assert abs(one - paper) < 4 * (error + other)


def test_more_samples_make_the_importance_weighted_bound_higher(without_context, evidence):
    few, many = (
        bounds(ImportanceWeighted(num_samples=number), WRONG, without_context, 4_000).mean()
        for number in (1, 16)
    )
    assert few < many - 0.3
    assert many < evidence


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.8])
def test_renyis_bound_is_lower_by_renyis_divergence(alpha, without_context, evidence):
    """(Gil et al., 2013), with the exact posterior N(m, s) and ours N(m + shift, stretch s)."""
    scales = np.asarray(LinearGaussian().encode(without_context.target).latent.scale, np.float64)
    variance = alpha + (1 - alpha) * STRETCH**2
    divergence = np.sum(
        np.log(variance) / (2 * (1 - alpha))
        - np.log(STRETCH)
        + alpha * (SHIFT / scales) ** 2 / (2 * variance)
    )
    mean, error = mean_and_error(
        bounds(Renyi(alpha=alpha, num_samples=20_000), WRONG, without_context, 16)
    )
    assert abs(evidence - mean - divergence) < 4 * error + 1e-3


def test_renyis_bound_lies_between_the_papers_and_the_log_marginal_likelihood(
    without_context, evidence
):
    paper, renyi = (
        mean_and_error(bounds(objective, WRONG, without_context, 4_000))
        for objective in (Elbo(), Renyi())
    )
    assert paper[0] + 4 * (paper[1] + renyi[1]) < renyi[0] < evidence


TRAINING = TrainingSettings(epochs=4, context_sizes=(3, 5), target_sizes=(8, 15), batch_size=4)


@pytest.fixture(scope="module")
def small():
    settings = NeuralProcessSettings(hidden_size=8, representation_size=6)
    return build_process(settings, observation_size=2, privileged_size=1, key=jax.random.key(0))


@pytest.fixture(scope="module")
def histories(small, tasks):
    """Of training with the bound, and with what takes over from it half-way."""
    return [
        fit(
            small, tasks, tasks[:4], settings=TRAINING, objective=objective, key=jax.random.key(0)
        ).history
        for objective in (Elbo(), MaximumLikelihood())
    ]


def test_maximum_likelihood_begins_with_the_bound_and_then_takes_over(histories):
    bound, other = ([row["train_loss"] for row in history] for history in histories)
    assert other[:2] == bound[:2]
    assert all(one != two for one, two in zip(other[2:], bound[2:], strict=True))


def test_validation_has_what_takes_over_from_the_beginning(histories):
    bound, other = ([row["validation_loss"] for row in history] for history in histories)
    assert all(one != two for one, two in zip(bound, other, strict=True))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_has_finite_gradients_and_the_same_terms(name, small, split):
    @eqx.filter_jit
    def gradient(process, privileged):
        objective = OBJECTIVES[name]()
        return eqx.filter_grad(
            lambda p: objective(p, split, privileged, key=jax.random.key(0)), has_aux=True
        )(process)

    for value in (0.5, jnp.nan):
        found, terms = gradient(small, jnp.array([value]))
        leaves = jax.tree.leaves(found)
        assert all(np.isfinite(leaf).all() for leaf in leaves)
        assert any(np.abs(leaf).max() > 0 for leaf in leaves)
        assert set(terms) == {"log_likelihood", "kl"}


class _Dear(LinearGaussian):
    """With a cost of its own beside any objective."""

    def lesson(self, split, privileged, *, key):
        return super().lesson(split, privileged, key=key)._replace(costs={"own": jnp.array(2.5)})


@pytest.mark.parametrize("name", OBJECTIVES)
def test_what_else_has_a_cost_is_added_and_shown(name, split):
    plain, dear = (
        eqx.filter_jit(OBJECTIVES[name]())(process, split, NOTHING, key=jax.random.key(0))
        for process in (LinearGaussian(), _Dear())
    )
    assert float(dear[0] - plain[0]) == pytest.approx(2.5, abs=1e-4)
    assert dear[1] == plain[1] | {"own": 2.5}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_divergence_that_is_shown_is_that_of_both_codes(name, split):
    process = LinearGaussian()
    target, context = process.encode(split.target).latent, process.encode(split.context).latent
    normals = (numpyro.Normal(one.loc, one.scale) for one in (target, context))
    expected = float(numpyro.kl_divergence(*normals).sum())
    _, terms = OBJECTIVES[name]()(process, split, NOTHING, key=jax.random.key(0))
    assert float(terms["kl"]) == pytest.approx(expected, rel=1e-4)


def test_files_name_objectives_and_their_settings():
    settings = forecaster_settings(objective={"kind": "npml", "num_samples": 3})
    assert settings.objective == MaximumLikelihood(num_samples=3)
    assert type(settings).model_validate(settings.model_dump()) == settings


def test_renyis_bound_at_one_is_refused():
    with pytest.raises(UserError, match="take `elbo`"):
        forecaster_settings(objective={"kind": "renyi", "alpha": 1.0})
