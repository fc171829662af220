import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lupi.data import Split
from lupi.objectives import Elbo

PRIVILEGED = jnp.array([0.7])


@pytest.fixture(scope="module")
def split(observations):
    return Split(observations.only(jnp.arange(10) < 8), jnp.arange(10) < 4)


def test_the_kl_term_agrees_with_a_monte_carlo_estimate(lupi, split):
    _, terms = Elbo()(lupi, split, PRIVILEGED, key=jax.random.key(0))
    posterior = lupi.infer_in_training(split.target, PRIVILEGED)
    prior = lupi.infer(split.context)
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
    _, terms = Elbo()(lupi, split, PRIVILEGED, key=key)
    z = lupi.infer_in_training(split.target, PRIVILEGED).sample(key)
    expected = 0.0
    for index in range(8):
        decoded = lupi.decode(z, split.target.ts[index : index + 1])
        y = split.target.ys[index]
        expected += stats.norm.logpdf(y, decoded.loc[0], decoded.scale[0]).sum()
    assert float(terms["log_likelihood"]) == pytest.approx(expected, rel=1e-4)


def test_both_distributions_of_z_are_those_that_inference_gives_one_by_one(lupi, nopi, split):
    for process in (lupi, nopi):
        posterior, prior = process.infer_split(split, PRIVILEGED)
        for found, expected in (
            (posterior, process.infer_in_training(split.target, PRIVILEGED)),
            (prior, process.infer(split.context)),
        ):
            np.testing.assert_allclose(found.loc, expected.loc, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-5, atol=1e-6)


def test_the_loss_is_the_negative_bound(lupi, split):
    loss, terms = Elbo()(lupi, split, PRIVILEGED, key=jax.random.key(0))
    assert float(loss) == pytest.approx(float(terms["kl"] - terms["log_likelihood"]), rel=1e-6)


def test_it_is_a_lower_bound_of_the_log_marginal_likelihood(lupi, split):
    """log E_{q'(z|C)}[p(y|z)] >= E[bound], both by many samples of z."""
    keys = jax.random.split(jax.random.key(3), 4000)
    losses, _ = eqx.filter_vmap(lambda k: Elbo()(lupi, split, PRIVILEGED, key=k))(keys)
    zs = lupi.infer(split.context).sample(jax.random.key(4), (4000,))

    def joint(z):
        density = lupi.decode(z, split.target.ts).log_prob(split.target.ys)
        return jnp.sum(density, where=split.target.mask[:, None])

    marginal = jax.nn.logsumexp(jax.vmap(joint)(zs)) - np.log(4000)
    assert float(-losses.mean()) < float(marginal)


def test_dropping_the_privileged_parts_gives_the_objective_without_them(lupi, nopi, split):
    key = jax.random.key(0)
    dropped, _ = Elbo()(lupi.without_privileged(), split, PRIVILEGED, key=key)
    plain, _ = Elbo()(nopi, split, PRIVILEGED, key=key)
    whole, _ = Elbo()(lupi, split, PRIVILEGED, key=key)
    assert float(dropped) == float(plain)
    assert float(whole) != float(plain)


def test_the_kl_is_zero_when_context_and_target_are_one_set(nopi, split):
    whole = Split(split.target, split.target.mask)
    _, terms = Elbo()(nopi, whole, PRIVILEGED, key=jax.random.key(0))
    assert float(terms["kl"]) == pytest.approx(0.0, abs=1e-5)


def test_values_behind_the_mask_do_not_matter(lupi, split):
    spoiled = eqx.tree_at(
        lambda s: (s.target.ys, s.target.ts),
        split,
        (split.target.ys.at[8:].set(99.0), split.target.ts.at[8:].set(1000.0)),
    )
    key = jax.random.key(0)
    clean_loss, _ = Elbo()(lupi, split, PRIVILEGED, key=key)
    spoiled_loss, _ = Elbo()(lupi, spoiled, PRIVILEGED, key=key)
    assert float(clean_loss) == pytest.approx(float(spoiled_loss), rel=1e-6)


def test_its_gradient_agrees_with_finite_differences(lupi, split):
    def loss_at(shift):
        moved = eqx.tree_at(
            lambda p: p.latent_ode.mlp.layers[0].bias, lupi, replace_fn=lambda b: b + shift
        )
        return Elbo()(moved, split, PRIVILEGED, key=jax.random.key(0))[0]

    gradient = jax.grad(loss_at)(0.0)
    difference = (loss_at(1e-2) - loss_at(-1e-2)) / 2e-2
    assert float(gradient) == pytest.approx(float(difference), rel=2e-2)
