"""Against numpyro's."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as theirs
import pytest

from lupi.distributions import Distribution, Normal, Uniform, kl_divergence
from lupi.errors import UserError

LOC, SCALE = jnp.array([-1.0, 0.0, 2.0]), jnp.array([0.1, 1.0, 3.0])


def test_densities_samples_and_divergences_are_numpyros():
    ours, other = Normal(LOC, SCALE), Normal(LOC[::-1], 2 * SCALE)
    reference, reference_other = (theirs.Normal(p.loc, p.scale) for p in (ours, other))
    key = jax.random.key(0)
    for shape in ((), (4,), (2, 5)):
        np.testing.assert_allclose(ours.sample(key, shape), reference.sample(key, shape), rtol=1e-6)
    values = ours.sample(key, (6,))
    np.testing.assert_allclose(ours.log_prob(values), reference.log_prob(values), rtol=1e-5)
    np.testing.assert_allclose(
        kl_divergence(ours, other), theirs.kl_divergence(reference, reference_other), rtol=1e-5
    )
    np.testing.assert_allclose(kl_divergence(ours, ours), 0.0, atol=1e-7)


def test_one_of_a_batch_is_itself_a_distribution():
    """Unlike numpyro's, which keep the shape they had inside a vmap."""
    normals = jax.vmap(Normal)(jnp.zeros((5, 3)), jnp.ones((5, 3)))
    assert normals.sample(jax.random.key(0)).shape == (5, 3)


def test_uniform_numbers_are_numpyros_and_both_are_distributions():
    keys = jax.random.split(jax.random.key(0), 1000)
    found = jax.vmap(Uniform(0.2, 1.0).sample)(keys)
    np.testing.assert_array_equal(found, jax.vmap(theirs.Uniform(0.2, 1.0).sample)(keys))
    assert 0.2 <= float(found.min()) < float(found.max()) <= 1.0
    for distribution in (Uniform(0.0, 1.0), theirs.LogNormal(0.0, 1.0)):
        assert isinstance(distribution, Distribution)
    assert not isinstance(0.5, Distribution)
    assert not isinstance(jnp.zeros(()), Distribution)


@pytest.mark.parametrize("ends", [(1.0, 0.2), (0.5, 0.5), (float("nan"), 1.0)])
def test_ends_in_the_wrong_order_are_refused(ends):
    with pytest.raises(UserError, match="a lower and a higher number"):
        Uniform(*ends)
