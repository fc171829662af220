"""Many representations to one: each aggregator against its definition, and laws of all."""

from typing import get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from lupi.models import NeuralProcessSettings
from lupi.models.initialisation import initialise
from lupi.models.settings import Aggregator

SIZE = 3
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(6, SIZE)).astype(np.float32)
TS = RNG.uniform(size=6).astype(np.float32)
MASK = np.array([True, False, True, True, False, True])
REAL, AT = VALUES[MASK], TS[MASK]


def made(name):
    settings = NeuralProcessSettings(aggregator=name, hidden_size=4, representation_size=SIZE)
    return initialise(settings.make_aggregator(), gain=1.7, key=jax.random.key(0))


AGGREGATORS = {name: made(name) for name in get_args(Aggregator)}


@eqx.filter_jit
def aggregate(aggregator, values, mask, ts):
    return aggregator(values, mask, ts)


@pytest.fixture(params=AGGREGATORS)
def aggregator(request):
    return AGGREGATORS[request.param]


# Of every aggregator


def test_the_aggregate_has_the_size_that_it_says(aggregator):
    assert aggregate(aggregator, VALUES, MASK, TS).shape == (aggregator.aggregate_size,)


def test_order_and_padding_do_not_matter(aggregator):
    plain = aggregate(aggregator, VALUES, MASK, TS)
    order = RNG.permutation(6)
    moved = aggregate(aggregator, VALUES[order], MASK[order], TS[order])
    np.testing.assert_allclose(moved, plain, rtol=1e-5, atol=1e-6)
    filled = np.where(MASK[:, None], VALUES, 99.0).astype(np.float32)
    other = aggregate(aggregator, filled, MASK, np.where(MASK, TS, -7.0).astype(np.float32))
    np.testing.assert_allclose(other, plain, rtol=1e-5, atol=1e-6)


def test_points_of_one_time_have_no_order(aggregator):
    same = np.full(6, 0.5, np.float32)
    found = (aggregate(aggregator, VALUES[::step], MASK[::step], same) for step in (1, -1))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


def test_no_point_is_zero_whether_padded_or_not_with_finite_slopes(aggregator):
    none = aggregator(np.zeros((0, SIZE), np.float32), np.zeros(0, bool), np.zeros(0, np.float32))
    np.testing.assert_array_equal(none, np.zeros(aggregator.aggregate_size))
    nowhere = np.zeros(6, bool)
    value, slope = eqx.filter_jit(
        jax.value_and_grad(lambda values: aggregator(values, nowhere, TS).sum())
    )(jnp.array(VALUES))
    assert float(value) == 0
    np.testing.assert_array_equal(slope, 0.0)


def test_every_real_point_counts_and_slopes_are_finite(aggregator):
    for mask in (MASK, np.arange(6) == 2):
        weights = jnp.arange(1.0, 1 + aggregator.aggregate_size)
        slope = eqx.filter_jit(
            jax.grad(lambda v, mask=mask: aggregator(v, mask, TS) @ weights)  # noqa: B023
        )(jnp.array(VALUES))
        assert np.isfinite(slope).all()
        np.testing.assert_array_equal(slope[~mask], 0.0)
    assert np.abs(slope[2]).max() > 0


# Each against its definition


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean", REAL.mean(axis=0)),
        ("logsumexp", logsumexp(REAL, axis=0)),
        ("max", REAL.max(axis=0)),
        ("mean-logsumexp", np.concatenate([REAL.mean(axis=0), logsumexp(REAL, axis=0)])),
        ("mean-max", np.concatenate([REAL.mean(axis=0), REAL.max(axis=0)])),
    ],
)
def test_pools_are_what_their_names_say(name, expected):
    np.testing.assert_allclose(aggregate(AGGREGATORS[name], VALUES, MASK, TS), expected, rtol=1e-5)


def test_bayesian_aggregation_is_the_posterior_that_updates_give_one_by_one():
    one = AGGREGATORS["bayesian"]
    mean, variance = np.zeros(SIZE), np.ones(SIZE)
    for point in REAL:
        said = np.asarray(one.mean(point), float)
        noise = (0.01 + np.logaddexp(0, np.asarray(one.scale(point), float))) ** 2
        gain = variance / (variance + noise)
        mean, variance = mean + gain * (said - mean), (1 - gain) * variance
    expected = np.concatenate([mean, np.log(variance) / 2])
    np.testing.assert_allclose(aggregate(one, VALUES, MASK, TS), expected, rtol=1e-4, atol=1e-5)


def test_attention_is_a_mean_with_weights_that_sum_to_one():
    one = AGGREGATORS["attention"]
    scores = np.exp(np.asarray(one.queries(REAL), float))
    expected = (scores / scores.sum(axis=0) * np.asarray(one.values(REAL))).sum(axis=0)
    np.testing.assert_allclose(aggregate(one, VALUES, MASK, TS), expected, rtol=1e-4, atol=1e-5)


def test_the_recurrent_reader_is_equinoxs_unit_read_backwards_in_time():
    one = AGGREGATORS["recurrent"]
    cell = eqx.nn.GRUCell(SIZE, SIZE, key=jax.random.key(1))
    # Theirs has the gates in the order reset, update, new, and a bias for the last within reset.
    order = np.concatenate([np.arange(SIZE, 2 * SIZE), np.arange(SIZE), np.arange(2 * SIZE, 9)])
    bias, inner = one.from_point.bias[order], one.from_state.bias[order]
    cell = eqx.tree_at(
        lambda c: (c.weight_ih, c.weight_hh, c.bias, c.bias_n),
        cell,
        (
            one.from_point.weight[order],
            one.from_state.weight[order],
            (bias + inner).at[2 * SIZE :].set(bias[2 * SIZE :]),
            inner[2 * SIZE :],
        ),
    )
    state = jnp.zeros(SIZE)
    for i in np.argsort(-AT):
        state = cell(jnp.array(REAL[i]), state)
    np.testing.assert_allclose(aggregate(one, VALUES, MASK, TS), state, rtol=1e-4, atol=1e-5)


def test_the_controlled_reader_solves_its_equation_along_the_path():
    """Points close to each other on the path: there its one step between two is a solution."""
    from scipy.integrate import solve_ivp

    one = AGGREGATORS["controlled"]
    ts = np.linspace(0.0, 1.0, 40, dtype=np.float32)
    values = np.stack([np.sin(3 * ts), np.cos(2 * ts), ts**2], axis=1).astype(np.float32)
    knots = np.concatenate([ts[:, None], values], axis=1)[::-1].astype(float)
    matrices = np.asarray(one.path.weight, float).reshape(2, SIZE, 1 + SIZE)

    @jax.jit
    def field(state):
        return jnp.tanh(one.field(state)).reshape(2, SIZE)

    state = np.asarray(one.start(knots[0].astype(np.float32)), float)
    for step in np.diff(knots, axis=0):

        def slope(_, state, step=step):
            factors = np.asarray(field(jnp.array(state, jnp.float32)))
            return np.einsum("ki,kij->ij", factors, matrices) @ step

        state = solve_ivp(slope, (0, 1), state, rtol=1e-5, atol=1e-6).y[:, -1]
    found = aggregate(one, values, np.ones(40, bool), ts)
    np.testing.assert_allclose(found, state, rtol=2e-3, atol=2e-3)


def test_readers_heed_the_order_in_time():
    for name in ("recurrent", "controlled"):
        later = aggregate(AGGREGATORS[name], VALUES, MASK, 1 - TS)
        assert np.abs(later - aggregate(AGGREGATORS[name], VALUES, MASK, TS)).max() > 1e-3
