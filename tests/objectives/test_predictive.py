"""What training is judged by: a proper score of the forecast, of what the context does not show."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scoringrules

from lupi.data import Observations, Split
from lupi.models import Sample
from lupi.objectives import Predictive
from toy_processes import LinearGaussian

KEY = jax.random.key(3)
score = eqx.filter_jit(Predictive())


@pytest.fixture(scope="module")
def split(observations):
    return Split(observations.only(jnp.arange(10) < 8), jnp.arange(10) < 4)


def test_it_is_the_score_that_another_library_gives(lupi, split):
    code = eqx.filter_jit(lambda seen: lupi.encode(seen))(split.context)
    z = code.latent.sample(KEY, (8,))
    decoded = jax.jit(jax.vmap(lambda one: lupi.decode(Sample(one), split.target.ts)))(z)
    loc, scale = (np.moveaxis(np.asarray(part), 0, -1) for part in (decoded.loc, decoded.scale))
    expected = np.asarray(scoringrules.crps_mixnorm(np.asarray(split.target.ys), loc, scale))[4:8]
    found, _ = score(lupi, split, jnp.array([0.7]), key=KEY)
    assert float(found) == pytest.approx(expected.mean(), rel=1e-3)


def test_where_one_value_is_asked_for_it_is_the_score_of_that_value(observations):
    process, gaps = LinearGaussian(), jnp.zeros((10, 2), bool).at[4, 1].set(True)
    seen = Observations(observations.ts, observations.ys, jnp.arange(10) < 5, gaps)
    split = Split(seen, jnp.arange(10) < 4)
    z = process.encode(split.context).latent.sample(KEY, (8,))
    decoded = jax.vmap(lambda one: process.decode(Sample(one), seen.ts[4:5]))(z)
    loc, scale = (np.asarray(part)[:, 0, 0] for part in (decoded.loc, decoded.scale))
    expected = float(scoringrules.crps_mixnorm(float(seen.ys[4, 0]), loc, scale))
    found, _ = score(process, split, jnp.zeros(0), key=KEY)
    assert float(found) == pytest.approx(expected, rel=1e-3)


def test_privileged_values_and_the_target_change_nothing_but_what_is_asked(lupi, split):
    loss, _ = score(lupi, split, jnp.array([0.7]), key=KEY)
    assert loss == score(lupi, split, jnp.array([9.9]), key=KEY)[0]
    values = split.target.ys.at[8:].set(100.0)  # padding
    other = Split(type(split.target)(split.target.ts, values, split.target.mask), split.in_context)
    assert float(score(lupi, other, jnp.array([0.7]), key=KEY)[0]) == pytest.approx(
        float(loss), rel=1e-5
    )
