"""The ideal observer against brute force: the posterior on a fine grid of parameters, by NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as numpyro
import pytest
from scipy import stats
from scipy.integrate import solve_ivp

from lupi.data import Observations
from lupi.distributions import NormalMixture, Uniform
from lupi.errors import UserError
from lupi.ideal import IdealObserver, solutions
from lupi.prediction import predict_many
from lupi.systems import LotkaVolterra, Parameter, System, simulate

KEY = jax.random.key(7)
HORIZON, NOISE = 4.0, 0.1
LOW, HIGH = 0.2, 2.0


class Decay(System):
    """x' = -rate x from 1."""

    observed = ("x",)
    rate: Parameter = 1.0

    def initial_state(self):
        return jnp.ones_like(self.rate)[None]

    def vector_field(self, time, state):
        return -self.rate * state


RATES = np.linspace(LOW, HIGH, 20_001)
CONTEXT_TS = np.array([0.1, 0.3, 0.35, 0.8], np.float32)
CONTEXT_YS = np.array([0.75, 0.31, 0.4, 0.12], np.float32)[:, None]
TIMES = np.linspace(0.0, 1.0, 11, dtype=np.float32)


def decays(times):
    """On the grid of rates: a row for each, a column for each time."""
    return np.exp(-RATES[:, None] * HORIZON * np.asarray(times, float))


def grid_weights(ts, ys, noise=NOISE):
    log_likelihoods = -0.5 * (((decays(ts) - ys[:, 0]) / noise) ** 2).sum(axis=1)
    weights = np.exp(log_likelihoods - log_likelihoods.max())
    return weights / weights.sum()


def context_of(ts=CONTEXT_TS, ys=CONTEXT_YS) -> Observations:
    return Observations(ts, ys.astype(np.float32))


def decay_observer(rate=None, **options):
    family = Decay(rate=Uniform(LOW, HIGH) if rate is None else rate, privileged=("rate",))
    return IdealObserver.of(family, horizon=HORIZON, noise=NOISE, key=jax.random.key(0), **options)


@pytest.fixture(scope="module")
def observer():
    return decay_observer()


def ask(observer, context, times=TIMES):
    """A forecast of 1024 samples; all contexts and times are of one size, to compile once."""
    missing = 8 - len(context.ts)
    context = jax.tree.map(
        lambda leaf: np.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1))[None], context
    )
    asked = np.resize(times, TIMES.size)[None]
    found = predict_many(observer, context, asked, num_samples=1024, horizon=4, keys=KEY)
    return NormalMixture(found.means[0, :, : len(times)], found.scales[0, :, : len(times)])


def assert_like_the_grid(prediction, weights, noise=NOISE):
    """Mean, spread and quantiles of noisy values are those of brute force."""
    values = decays(TIMES)
    mean = weights @ values
    std = np.sqrt(weights @ (values - mean) ** 2)
    np.testing.assert_allclose(prediction.mean[:, 0], mean, atol=0.03 * std.max())
    np.testing.assert_allclose(prediction.spread.scale[:, 0], std, atol=0.05 * std.max())
    some = weights > 1e-9
    for level in (0.05, 0.5, 0.9):
        found = prediction.quantile(level)[:, 0]
        below = weights[some] @ stats.norm.cdf((found - values[some]) / noise)
        np.testing.assert_allclose(below, level, atol=0.01)


def test_a_forecast_is_that_of_brute_force(observer):
    assert_like_the_grid(ask(observer, context_of()), grid_weights(CONTEXT_TS, CONTEXT_YS))


def test_without_a_context_it_is_the_prior_predictive(observer):
    prediction = ask(observer, Observations.none(1))
    assert_like_the_grid(prediction, np.full(RATES.size, 1 / RATES.size))
    later = HORIZON * TIMES[1:].astype(float)
    expected = (np.exp(-LOW * later) - np.exp(-HIGH * later)) / (later * (HIGH - LOW))
    np.testing.assert_allclose(prediction.mean[1:, 0], expected, atol=5e-3)


def test_an_unlikely_context_at_the_edge_of_the_prior_is_no_problem(observer):
    ys = np.exp(-2.2 * HORIZON * CONTEXT_TS)[:, None].astype(np.float32)
    assert_like_the_grid(ask(observer, context_of(ys=ys)), grid_weights(CONTEXT_TS, ys))


@pytest.mark.slow
def test_privileged_values_have_the_posterior_of_brute_force(observer):
    found = np.asarray(observer.privileged(context_of(), num_samples=1024, key=KEY))
    weights = grid_weights(CONTEXT_TS, CONTEXT_YS)
    assert found.shape == (1024, 1)
    below = np.interp(np.quantile(found, [0.1, 0.5, 0.9]), RATES, np.cumsum(weights))
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=0.04)


def test_the_effective_sample_size_is_large_where_inference_succeeds(observer):
    size = observer.effective_sample_size(context_of(), key=KEY)
    assert 1500 < float(size) < 4096 + 3 * 512


def test_the_members_of_a_forecast_are_those_whose_privileged_values_are_given(observer):
    prediction = ask(observer, context_of())
    rates = observer.privileged(context_of(), num_samples=1024, key=KEY)
    expected = np.exp(-np.asarray(rates) * HORIZON * TIMES)
    np.testing.assert_allclose(prediction.means[..., 0], expected, atol=1e-3)


def test_values_may_be_shifted_and_scaled(observer):
    normalised = decay_observer(observed_mean=0.3, observed_scale=[0.2])
    found = ask(normalised, context_of(ys=(CONTEXT_YS - 0.3) / 0.2))
    plain = ask(observer, context_of())
    np.testing.assert_allclose(0.3 + 0.2 * found.mean, plain.mean, atol=1e-3)
    np.testing.assert_allclose(0.2 * found.std, plain.std, atol=1e-3)


def test_beyond_the_horizon_it_goes_on_with_the_equations(observer):
    times = np.array([1.5, 2.5], np.float32)
    weights = grid_weights(CONTEXT_TS, CONTEXT_YS)
    found = ask(observer, context_of(), times)
    np.testing.assert_allclose(found.mean[:, 0], weights @ decays(times), atol=1e-3)


def test_a_context_beyond_the_horizon_gives_no_number(observer):
    later = context_of(ts=np.array([0.1, 0.3, 0.35, 1.8], np.float32))
    assert np.isnan(ask(observer, later).means).all()
    with pytest.raises(UserError, match=r"within the observer's horizon, got one until 1\.8 of it"):
        observer.posterior(later, key=KEY)


class Something:
    """A distribution without a density: mostly slow."""

    def sample(self, key):
        return LOW + (HIGH - LOW) * jax.random.uniform(key) ** 2


@pytest.mark.parametrize(
    ("rate", "density"),
    [
        (Something(), lambda rate: 1 / np.sqrt(np.maximum(rate - LOW, 1e-5))),
        (numpyro.TruncatedNormal(0.6, 0.3, low=LOW, high=HIGH), stats.norm(0.6, 0.3).pdf),
    ],
    ids=["without a density", "numpyro's"],
)
@pytest.mark.slow
def test_other_distributions_are_priors_too(rate, density):
    observer = decay_observer(rate)
    weights = grid_weights(CONTEXT_TS, CONTEXT_YS) * density(RATES)
    assert observer.refines != isinstance(rate, Something)
    assert_like_the_grid(ask(observer, context_of()), weights / weights.sum())


@pytest.mark.slow
def test_discrete_parameters_and_samples_of_its_own_have_the_bank_alone():
    class Twins(System):
        """Two decays of one rate, which `sample` sees to."""

        observed = ("x", "y")
        rate: Parameter = 1.0
        other: Parameter = 1.0

        def initial_state(self):
            return jnp.ones(2)

        def vector_field(self, time, state):
            return -jnp.stack([self.rate, self.other]) * state

        def sample(self, *, key):
            rate = jax.random.uniform(key, minval=LOW, maxval=HIGH)
            return self.member({"rate": rate, "other": rate})

    options = {"horizon": HORIZON, "noise": NOISE, "key": jax.random.key(0)}
    twins = IdealObserver.of(Twins(), **options)
    assert not twins.refines
    both = np.repeat(CONTEXT_YS, 2, axis=1)
    found = ask(twins, Observations(CONTEXT_TS, both, gaps=np.array([[False, True]] * 4)))
    np.testing.assert_array_equal(found.means[..., 0], found.means[..., 1])
    mean = grid_weights(CONTEXT_TS, CONTEXT_YS) @ decays(TIMES)
    np.testing.assert_allclose(found.mean[:, 1], mean, atol=3e-3)
    assert not decay_observer(numpyro.Poisson(1.0)).refines


# Two parameters


PREY_AND_PREDATORS = LotkaVolterra(u0=Uniform(0.2, 1.0), v0=Uniform(0.1, 0.5), privileged=("V",))


def populations(times, u0, v0):
    """Those that start at u0 and v0, by scipy: an array of populations, of systems and of times."""

    def field(_, flat):
        u, v = flat.reshape(2, -1)
        return np.concatenate([2 / 3 * u - 4 / 3 * u * v, u * v - v])

    start = np.concatenate([np.ravel(u0), np.ravel(v0)])
    found = solve_ivp(field, (0.0, 10.0), start, t_eval=times, rtol=1e-7, atol=1e-7)
    return found.y.reshape(2, -1, len(times))


@pytest.fixture(scope="module")
def watcher():
    return IdealObserver.of(
        PREY_AND_PREDATORS,
        horizon=10.0,
        noise=NOISE,
        key=jax.random.key(0),
    )


def noisy(num_series, noise, num_context=6, seed=0):
    """Contexts, and the noiseless and the noisy values of the same series at other times."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, 10.0, 41)
    truth = simulate(PREY_AND_PREDATORS, times, num_series, key=jax.random.key(seed)).observed
    seen = truth + noise * rng.standard_normal(truth.shape)
    chosen = np.stack([rng.permutation(41) for _ in range(num_series)])
    rows, some, others = (
        np.arange(num_series)[:, None],
        chosen[:, :num_context],
        chosen[:, num_context : num_context + 4],
    )
    ts = (times / 10.0).astype(np.float32)
    contexts = Observations(ts[some], seen[rows, some].astype(np.float32))
    return contexts, ts[others], truth[rows, others], seen[rows, others]


@pytest.mark.slow
def test_with_two_parameters_a_forecast_is_that_of_brute_force(watcher):
    contexts, *_ = noisy(1, NOISE)
    context = jax.tree.map(lambda leaf: leaf[0], contexts)
    order = np.argsort(context.ts)
    times = np.unique(np.concatenate([10.0 * context.ts.astype(float), 10.0 * TIMES]))
    u0, v0 = np.meshgrid(np.linspace(0.2, 1.0, 121), np.linspace(0.1, 0.5, 121))
    on_grid = populations(times, u0, v0)
    at_context = np.searchsorted(times, 10.0 * context.ts[order].astype(float))
    distances = (on_grid[:, :, at_context] - context.ys[order].T[:, None]) / NOISE
    log_likelihoods = -0.5 * (distances**2).sum(axis=(0, 2))
    weights = np.exp(log_likelihoods - log_likelihoods.max())
    weights /= weights.sum()
    at_times = on_grid[:, :, np.searchsorted(times, 10.0 * TIMES)]
    mean = np.einsum("n,cnt->tc", weights, at_times)
    std = np.sqrt(np.einsum("n,cnt->tc", weights, at_times**2) - mean**2)
    found = ask(watcher, context)
    np.testing.assert_allclose((found.mean - mean) / std, 0.0, atol=0.12)
    np.testing.assert_allclose(found.spread.scale / std, 1.0, atol=0.12)


def test_the_bank_is_as_exact_as_the_noise_asks_for(watcher):
    times = np.array([0.3, 4.05, 9.99])
    members = watcher.bank.members
    exact = populations(times, members.u0.astype(float), members.v0.astype(float))
    found = jax.vmap(watcher.bank.at, out_axes=1)(jnp.asarray(times / 10.0, jnp.float32))
    assert np.abs(np.moveaxis(np.asarray(found, float), -1, 0) - exact).max() < 0.05 * NOISE


@pytest.mark.slow
def test_nine_of_ten_values_are_in_its_intervals(watcher):
    contexts, times, _, values = noisy(200, NOISE)
    keys = jax.random.split(KEY, 200)
    found = predict_many(watcher, contexts, times, num_samples=256, keys=keys)
    lower, upper = found.interval(coverage=0.9)
    inside = ((lower <= values) & (values <= upper))[:, 0]  # one time of each: independent
    error = np.sqrt(0.9 * 0.1 / 200)
    np.testing.assert_allclose(inside.mean(axis=0), 0.9, atol=3 * error)


@pytest.mark.slow
def test_without_noise_it_knows_the_system():
    observer = IdealObserver.of(PREY_AND_PREDATORS, horizon=10.0, noise=0.0, key=jax.random.key(0))
    contexts, times, truth, _ = noisy(20, 0.0)
    keys = jax.random.split(KEY, 20)
    found = predict_many(observer, contexts, times, num_samples=64, keys=keys)
    std = truth.std(axis=(0, 1))
    assert (np.abs(found.mean - truth) / std).max() < 1e-3
    assert (found.std / std).max() < 5e-3
    np.testing.assert_allclose(observer.noise / std, 1e-3, rtol=0.3)


@pytest.mark.slow
def test_gaps_are_values_that_were_not_seen(watcher):
    contexts, *_ = noisy(1, NOISE)
    context = jax.tree.map(lambda leaf: leaf[0], contexts)
    gaps = np.zeros((6, 2), bool)
    gaps[1] = gaps[4, 0] = True

    def with_gaps(filling, mask=context.mask):
        return Observations(context.ts, np.where(gaps, filling, context.ys), mask, gaps)

    found = ask(watcher, with_gaps(np.float32(0.0)))
    same = ask(watcher, with_gaps(np.float32(1e4)))
    np.testing.assert_array_equal(found.means, same.means)
    without = ask(watcher, with_gaps(np.float32(0.0), np.arange(6) != 1))
    np.testing.assert_allclose(found.mean, without.mean, atol=1e-3)
    assert np.abs(found.mean - ask(watcher, context).mean).max() > 1e-3


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0.0}, "horizon must be a positive number, got 0.0"),
        ({"noise": -0.1}, "noise must be 0 or more .* got -0.1"),
        ({"noise": [0.1, 0.2]}, r"noise must be one .* each of the 1 observed columns, got \[0.1"),
        ({"noise": float("nan")}, "noise must be one finite number"),
        ({"observed_scale": 0.0}, "observed_scale more than 0, got .* 0.0"),
        ({"num_members": 8}, "at least 32, got 8 and 512"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message):
    options = {"horizon": HORIZON, "noise": NOISE, "key": KEY} | options
    with pytest.raises(UserError, match=message):
        IdealObserver.of(Decay(rate=Uniform(LOW, HIGH)), **options)


def test_a_distribution_of_arrays_is_refused():
    class Pair:
        def sample(self, key):
            return jax.random.uniform(key, (1,), minval=LOW, maxval=HIGH)

    class Array(Decay):
        def initial_state(self):
            return jnp.ones(1)

    with pytest.raises(UserError, match=r"rate gives arrays of shape \(1,\), expected single"):
        IdealObserver.of(Array(rate=Pair()), horizon=HORIZON, noise=NOISE, key=KEY)


def test_a_system_too_fast_for_the_solver_is_refused(monkeypatch):
    monkeypatch.setattr(solutions, "STEPS", (2, 4))
    family = Decay(rate=Uniform(LOW, HIGH))
    with pytest.raises(UserError, match=r"0\.05 standard deviations of the noise, and is by"):
        IdealObserver.of(family, horizon=HORIZON, noise=NOISE, key=KEY)


def test_a_context_of_other_columns_and_unnamed_privileged_values_are_refused(observer):
    wrong = Observations(CONTEXT_TS, np.repeat(CONTEXT_YS, 2, axis=1))
    with pytest.raises(UserError, match="observes 2 quantities"):
        observer.effective_sample_size(wrong, key=KEY)
    nameless = jax.tree.map(lambda leaf: leaf, observer)
    object.__setattr__(nameless, "system", Decay(rate=Uniform(LOW, HIGH)))
    with pytest.raises(UserError, match=r"Decay was given no privileged quantities"):
        nameless.privileged(context_of(), num_samples=4, key=KEY)
