import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lupi.data import Split
from lupi.models import Sample
from lupi.objectives import Elbo
from toy_processes import LinearGaussian

PRIVILEGED = jnp.array([0.7])


@eqx.filter_jit
def elbo(process, split, key):
    """The loss and its terms."""
    return Elbo()(process, split, PRIVILEGED, key=key)


@eqx.filter_jit
def encode(process, observations, privileged=None):
    return process.encode(observations, privileged)


@eqx.filter_jit
def encode_split(process, split):
    return process.encode_split(split, PRIVILEGED)


def test_the_kl_term_agrees_with_a_monte_carlo_estimate(lupi, split):
    _, terms = elbo(lupi, split, jax.random.key(0))
    posterior = encode(lupi, split.target, PRIVILEGED).latent
    prior = encode(lupi, split.context).latent
    z = np.array(posterior.sample(jax.random.key(1), (200_000,)), dtype=np.float64)
    ratio = stats.norm.logpdf(z, posterior.loc, posterior.scale) - stats.norm.logpdf(
        z, prior.loc, prior.scale
    )
    sums = ratio.sum(axis=1)
    error = sums.std() / np.sqrt(len(sums))
    assert float(terms["kl"]) > 0
    assert abs(float(terms["kl"]) - sums.mean()) < 5 * error


def test_the_likelihood_term_sums_scipys_log_densities_over_the_target_points(lupi, split):
    key = jax.random.key(2)
    _, terms = elbo(lupi, split, key)
    z = encode(lupi, split.target, PRIVILEGED).latent.sample(key)
    decode = eqx.filter_jit(lambda times: lupi.decode(Sample(z), times))
    expected = 0.0
    for index in range(8):
        decoded = decode(split.target.ts[index : index + 1])
        y = split.target.ys[index]
        expected += stats.norm.logpdf(y, decoded.loc[0], decoded.scale[0]).sum()
    assert float(terms["log_likelihood"]) == pytest.approx(expected, rel=1e-4)


def test_both_codes_of_a_split_are_those_that_encoding_gives_one_by_one(lupi, nopi, split):
    for process in (lupi, nopi):
        target, context = encode_split(process, split)
        for code, expected in (
            (target, encode(process, split.target, PRIVILEGED)),
            (context, encode(process, split.context)),
        ):
            found, expected = code.latent, expected.latent
            np.testing.assert_allclose(found.loc, expected.loc, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-5, atol=1e-6)


def test_the_divergence_may_weigh_less(lupi, split):
    key = jax.random.key(2)
    whole, terms = elbo(lupi, split, key)
    tenth, same = eqx.filter_jit(Elbo(kl_weight=0.1))(lupi, split, PRIVILEGED, key=key)
    assert same == terms
    assert float(whole - tenth) == pytest.approx(0.9 * float(terms["kl"]), rel=1e-4)


def mean_bound(process, split):
    """The mean bound over samples of z, and its standard error."""
    keys = jax.random.split(jax.random.key(3), 20_000)
    bound = jax.jit(jax.vmap(lambda key: Elbo()(process, split, jnp.zeros(0), key=key)))
    losses, _ = bound(keys)
    bounds = -np.asarray(losses, np.float64)
    return bounds.mean(), bounds.std() / np.sqrt(bounds.size)


def test_with_the_exact_posterior_the_bound_is_the_log_marginal_likelihood(
    without_context, evidence
):
    bound, error = mean_bound(LinearGaussian(), without_context)
    assert error < 0.02
    assert abs(bound - evidence) < 4 * error


def test_with_another_posterior_the_bound_is_lower_by_its_divergence_from_the_exact_one(
    without_context, evidence
):
    shift, stretch = 0.3, 1.7
    bound, error = mean_bound(LinearGaussian(shift=shift, stretch=stretch), without_context)
    scales = np.asarray(LinearGaussian().encode(without_context.target).latent.scale, np.float64)
    divergence = np.sum(
        (stretch**2 + (shift / scales) ** 2 - 1) / 2 - np.log(stretch), dtype=np.float64
    )
    assert divergence > 1
    assert abs(evidence - bound - divergence) < 4 * error


def test_it_is_a_lower_bound_of_the_log_marginal_likelihood(lupi, split):
    """log E_{q'(z|C)}[p(y|z)] >= E[bound], both by many samples of z."""
    keys = jax.random.split(jax.random.key(3), 4000)
    losses, _ = eqx.filter_jit(eqx.filter_vmap(lambda key: elbo(lupi, split, key)))(keys)
    zs = encode(lupi, split.context).latent.sample(jax.random.key(4), (4000,))

    def joint(z):
        density = lupi.decode(Sample(z), split.target.ts).log_prob(split.target.ys)
        return jnp.sum(density, where=split.target.mask[:, None])

    marginal = jax.nn.logsumexp(jax.jit(jax.vmap(joint))(zs)) - np.log(4000)
    assert float(-losses.mean()) < float(marginal)


def test_dropping_the_privileged_parts_gives_the_objective_without_them(lupi, nopi, split):
    key = jax.random.key(0)
    dropped, _ = elbo(lupi.without_privileged(), split, key)
    plain, _ = elbo(nopi, split, key)
    whole, _ = elbo(lupi, split, key)
    assert float(dropped) == float(plain)
    assert float(whole) != float(plain)


def test_the_kl_is_zero_when_context_and_target_are_one_set(nopi, split):
    whole = Split(split.target, split.target.mask)
    _, terms = elbo(nopi, whole, jax.random.key(0))
    assert float(terms["kl"]) == pytest.approx(0.0, abs=1e-5)


def test_values_behind_the_mask_do_not_matter(lupi, split):
    spoiled = eqx.tree_at(
        lambda s: (s.target.ys, s.target.ts),
        split,
        (split.target.ys.at[8:].set(99.0), split.target.ts.at[8:].set(1000.0)),
    )
    key = jax.random.key(0)
    clean_loss, _ = elbo(lupi, split, key)
    spoiled_loss, _ = elbo(lupi, spoiled, key)
    assert float(clean_loss) == pytest.approx(float(spoiled_loss), rel=1e-6)


def test_its_gradient_agrees_with_finite_differences(lupi, split):
    @jax.jit
    def loss_at(shift):
        moved = eqx.tree_at(
            lambda p: p.latent_ode.mlp.layers[0].bias, lupi, replace_fn=lambda b: b + shift
        )
        return Elbo()(moved, split, PRIVILEGED, key=jax.random.key(0))[0]

    gradient = jax.jit(jax.grad(loss_at))(0.0)
    difference = (loss_at(1e-2) - loss_at(-1e-2)) / 2e-2
    assert float(gradient) == pytest.approx(float(difference), rel=2e-2)
