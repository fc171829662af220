"""Ways to use privileged information: what each tells whom, and when."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.data import Split
from lupi.models import NeuralProcessSettings, build_process
from lupi.models.parts.privileged_ways import WAYS
from lupi.objectives import Elbo

KEY = jax.random.key(0)
KNOWN, OTHER, UNKNOWN = (np.full(2, value, np.float32) for value in (0.7, -0.7, np.nan))
COSTS = {"head", "distillation", "dropout"}


def build(way, privileged_size=2):
    settings = NeuralProcessSettings(hidden_size=8, representation_size=6, privileged_way=way)
    return build_process(settings, observation_size=2, privileged_size=privileged_size, key=KEY)


BUILT = {way: build(way) for way in WAYS}
PLAIN = build("residual", 0)


@pytest.fixture(scope="module")
def split(observations):
    return Split(observations, jnp.arange(10) < 4)


@eqx.filter_jit
def lesson(process, split, privileged, key=KEY):
    return process.lesson(split, privileged, key=key)


@eqx.filter_jit
def encode(process, observations, privileged=None, key=None):
    return process.encode(observations, privileged, key=key).latent.loc


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


# Of every way


def test_predictions_are_made_without_it(way, split):
    bare = encode(BUILT[way], split.context)
    np.testing.assert_array_equal(bare, encode(PLAIN, split.context))
    np.testing.assert_allclose(encode(BUILT[way], split.context, UNKNOWN, KEY), bare, atol=1e-6)


@pytest.mark.parametrize("way", ["residual", "head", "distillation", "dropout"])
def test_gradients_are_finite_and_reach_the_part(way, split):
    @eqx.filter_jit
    def gradient(process, privileged):
        keys = jax.random.split(KEY, 8)  # some ways are random
        return eqx.filter_grad(
            lambda p: jax.vmap(lambda k: Elbo()(p, split, privileged, key=k)[0])(keys).mean()
        )(process)

    for privileged in (KNOWN, UNKNOWN):
        found = gradient(BUILT[way], privileged)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
        size = sum(np.abs(leaf).sum() for leaf in jax.tree.leaves(found.privileged))
        assert (size > 0) == (privileged is KNOWN)


def test_its_costs_are_terms_of_the_loss(way, split):
    loss, terms = eqx.filter_jit(Elbo())(BUILT[way], split, KNOWN, key=KEY)
    assert set(terms) == {"log_likelihood", "kl"} | ({way} & COSTS)
    parts = float(terms["kl"] - terms["log_likelihood"]) + sum(
        float(terms[name]) for name in {way} & COSTS
    )
    assert float(loss) == pytest.approx(parts, rel=1e-5)


TOLD = {
    "residual": [True, False],
    "concatenation": [True, False],
    "head": [False, False],
    "distillation": [True, True],
    "dropout": [True, True],
}
"""Whether the codes of target and context are told in training; dropping is at random."""


@pytest.mark.parametrize("way", TOLD)
def test_training_tells_the_codes_that_it_should(way, split):
    one, other = (lesson(BUILT[way], split, values) for values in (KNOWN, OTHER))
    told = [
        not np.allclose(getattr(one, code).latent.loc, getattr(other, code).latent.loc, atol=1e-6)
        for code in ("target", "context")
    ]
    assert told == TOLD[way]


# Of single ways


def test_a_head_costs_the_negative_log_density_of_what_is_known(split):
    from scipy import stats

    part = BUILT["head"].privileged
    half = np.array([0.7, np.nan], np.float32)
    found = lesson(BUILT["head"], split, half)
    mean, raw = np.split(np.asarray(part.mlp(found.context.latent.loc)), 2)
    expected = -stats.norm.logpdf(0.7, mean[0], 0.1 + np.logaddexp(0, raw[0]))
    assert float(found.costs["head"]) == pytest.approx(expected, rel=1e-4)


def test_the_student_learns_and_the_teacher_does_not_learn_from_it(split):
    process = BUILT["distillation"]

    @eqx.filter_jit
    def gradient(process):
        return eqx.filter_grad(lambda p: p.lesson(split, KNOWN, key=KEY).costs["distillation"])(
            process
        )

    found = gradient(process)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(found.privileged))
    assert float(jnp.abs(found.global_latent.mean.weight).max()) > 0


def test_noise_of_dropout_has_the_scale_that_privileged_values_say():
    part = BUILT["dropout"].privileged
    keys = jax.random.split(KEY, 4000)
    summary = jnp.linspace(1.0, 2.0, 12)
    noisy = jax.jit(jax.vmap(lambda key: part(summary, KNOWN, key=key)))(keys)
    np.testing.assert_allclose(noisy.mean(axis=0), summary, rtol=0.05)
    expected = summary * np.exp(part.log_scale(KNOWN))
    np.testing.assert_allclose(noisy.std(axis=0), expected, rtol=0.08)
    assert np.abs(part.log_scale(KNOWN) - part.log_scale(OTHER)).max() > 1e-2
    np.testing.assert_array_equal(part(summary, KNOWN, key=None), summary)


def test_values_are_dropped_of_half_of_the_systems():
    part, summary = BUILT["dropping"].privileged, jnp.ones(12)
    keys = jax.random.split(KEY, 2000)
    found = jax.jit(jax.vmap(lambda key: part(summary, KNOWN, key=key)))(keys)
    kept = np.abs(found - summary).max(axis=1) > 1e-6
    assert kept.mean() == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(found[kept][0], part(summary, KNOWN, key=None), rtol=1e-5)
