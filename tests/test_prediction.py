import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lupi import prediction as prediction_module
from lupi.data import Observations, Task
from lupi.errors import UserError
from lupi.models import NeuralODEProcess, Prediction
from lupi.prediction import predict, predict_in_parts, predict_in_training, predict_many

TIMES = jnp.linspace(0, 1, 9)


@pytest.fixture(scope="module")
def prediction(lupi, observations):
    return predict(lupi, observations, TIMES, num_samples=16, key=jax.random.key(0))


def test_predict_has_no_argument_for_privileged_information():
    assert set(inspect.signature(predict).parameters) == {
        "predictor",
        "context",
        "times",
        "num_samples",
        "key",
    }
    assert set(Observations.__dataclass_fields__) == {"ts", "ys", "mask", "gaps", "inputs"}


def test_the_privileged_parts_have_no_say_in_a_prediction(lupi, observations, prediction):
    spoiled = eqx.tree_at(
        lambda p: p.privileged,
        lupi,
        replace_fn=lambda part: jax.tree.map(
            lambda leaf: jnp.full_like(leaf, jnp.nan) if eqx.is_array(leaf) else leaf, part
        ),
    )
    again = predict(spoiled, observations, TIMES, num_samples=16, key=jax.random.key(0))
    np.testing.assert_array_equal(prediction.samples, again.samples)


def test_the_papers_distribution_is_the_spread_of_the_decoded_means(prediction):
    means = np.array(prediction.means)
    np.testing.assert_allclose(prediction.spread.loc, means.mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        prediction.spread.scale, means.std(axis=0, ddof=1), rtol=1e-4, atol=1e-6
    )


def test_the_full_distribution_adds_the_decoders_variance(prediction):
    means, scales = np.array(prediction.means), np.array(prediction.scales)
    expected = (scales**2).mean(axis=0) + means.var(axis=0)
    np.testing.assert_allclose(prediction.std**2, expected, rtol=1e-4)
    np.testing.assert_allclose(prediction.mean, means.mean(axis=0), rtol=1e-4, atol=1e-6)


def mixture_cdf(prediction, values):
    """The full distribution's CDF, by scipy."""
    means, scales = (np.asarray(part, float) for part in (prediction.means, prediction.scales))
    return stats.norm.cdf(values, means, scales).mean(axis=0)


def test_samples_scatter_as_the_full_distribution_says(lupi, observations):
    many = predict(lupi, observations, TIMES, num_samples=4000, key=jax.random.key(1))
    samples, levels = many.samples, (0.1, 0.5, 0.9)
    for level, values in zip(levels, many.quantile(levels), strict=True):
        np.testing.assert_allclose((samples <= values).mean(axis=0), level, atol=0.03)
        np.testing.assert_allclose(mixture_cdf(many, values), level, atol=1e-4)


def test_quantiles_of_one_component_are_a_normals():
    single = Prediction(
        TIMES[:1], jnp.full((2, 1, 1), 3.0), jnp.full((2, 1, 1), 0.5), jax.random.key(0)
    )
    levels = jnp.array([0.001, 0.3, 0.5, 0.975])
    expected = stats.norm.ppf(levels, 3.0, 0.5)
    np.testing.assert_allclose(single.quantile(levels)[:, 0, 0], expected, rtol=1e-5)


def test_quantiles_invert_the_mixtures_cdf(prediction):
    levels = jnp.array([0.05, 0.5, 0.9])
    for level, values in zip(levels, prediction.quantile(levels), strict=True):
        np.testing.assert_allclose(mixture_cdf(prediction, values), level, atol=1e-5)
        np.testing.assert_allclose(prediction.probability_below(values), level, atol=1e-5)


def test_one_level_gives_one_quantile_and_a_list_one_each(prediction):
    listed = prediction.quantile([0.2, 0.7])
    assert listed.shape == (2, 9, 2)
    np.testing.assert_array_equal(prediction.quantile(0.7), listed[1])


def test_an_interval_holds_its_share_and_wider_ones_hold_narrower_ones(prediction):
    lower, upper = prediction.interval(coverage=0.9)
    mass = mixture_cdf(prediction, upper) - mixture_cdf(prediction, lower)
    np.testing.assert_allclose(mass, 0.9, atol=1e-4)
    inner_lower, inner_upper = prediction.interval(coverage=0.5)
    assert bool(((lower < inner_lower) & (inner_upper < upper)).all())


def test_times_may_lie_far_beyond_the_context(lupi, observations):
    far = predict(lupi, observations, jnp.array([5.0, 0.5]), key=jax.random.key(0))
    assert bool(jnp.isfinite(far.samples).all())


def test_many_tasks_at_once_give_what_each_gives_alone(lupi, tasks):
    keys = jax.random.split(jax.random.key(0), 12)
    ask = jax.jit(jax.vmap(lambda o, k: predict(lupi, o, TIMES, num_samples=4, key=k)))
    together = ask(tasks.observations, keys)
    alone = predict(
        lupi,
        tasks[3].observations,
        TIMES,
        num_samples=4,
        key=keys[3],
    )
    np.testing.assert_allclose(together.means[3], alone.means, atol=1e-5)
    assert together.mean.shape == (12, 9, 2)


def test_bad_input_is_refused_with_what_to_do(lupi, observations, prediction):
    key = jax.random.key(0)
    three = Observations(observations.ts, jnp.zeros((10, 3)), observations.mask)
    with pytest.raises(UserError, match="observes 3 quantities, the process was built for 2"):
        predict(lupi, three, TIMES, key=key)
    with pytest.raises(UserError, match="holds 2 systems, predict takes one"):
        predict(
            lupi, jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), observations), TIMES, key=key
        )
    broken = eqx.tree_at(lambda o: o.ys, observations, observations.ys.at[0, 0].set(jnp.nan))
    with pytest.raises(UserError, match="not finite numbers: remove those points"):
        predict(lupi, broken, TIMES, key=key)
    with pytest.raises(UserError, match="from 0 on"):
        predict(lupi, observations, jnp.array([-0.1, 0.5]), key=key)
    with pytest.raises(UserError, match="whole number from 2 to 2147483647, got 1"):
        predict(lupi, observations, TIMES, num_samples=1, key=key)
    with pytest.raises(UserError, match=r"between 0 and 1, got 90\.0"):
        prediction.interval(coverage=90.0)
    with pytest.raises(UserError, match="numbers between 0 and 1, one or a list"):
        prediction.quantile(jnp.array([0.5, 1.5]))


def test_predict_works_inside_jit_with_times_and_context_closed_over(lupi, observations):
    compiled = jax.jit(lambda key: predict(lupi, observations, TIMES, num_samples=4, key=key).mean)
    plain = predict(lupi, observations, TIMES, num_samples=4, key=jax.random.key(2)).mean
    np.testing.assert_allclose(compiled(jax.random.key(2)), plain, atol=1e-5)


@pytest.fixture
def traced(monkeypatch):
    """How often encoding has been traced: once for everything that is compiled."""
    calls = []
    represent = NeuralODEProcess.represent

    def counted(self, observations, *, key):
        calls.append(1)
        return represent(self, observations, key=key)

    monkeypatch.setattr(NeuralODEProcess, "represent", counted)
    return calls


def test_other_numbers_of_points_times_and_samples_compile_nothing(nopi, traced):
    seen = []
    for points, times, samples in ((9, 100, 64), (5, 77, 32), (16, 128, 64), (1, 1, 2)):
        ts = jnp.array(np.linspace(0, 1, points, dtype=np.float32))
        context = Observations(ts, jnp.array(np.ones((points, 2), np.float32)))
        where = jnp.array(np.linspace(0, 1, times, dtype=np.float32))
        found = predict(nopi, context, where, num_samples=samples, key=jax.random.key(0))
        assert found.samples.shape == (samples, times, 2)
        seen.append(len(traced))
    # By the first here, or not at all where another test has had it compiled.
    assert set(seen) == {seen[0]}
    predict(nopi, context, where, num_samples=200, key=jax.random.key(0))
    assert len(traced) > seen[0]


def test_a_sample_is_the_same_whatever_the_number_of_samples_and_times(lupi, observations):
    few = predict(lupi, observations, TIMES[:4], num_samples=5, key=jax.random.key(0))
    times = jnp.linspace(0, 1, 300).at[:4].set(TIMES[:4])
    many = predict(lupi, observations, times, num_samples=100, key=jax.random.key(0))
    np.testing.assert_allclose(many.samples[:5, :4], few.samples, rtol=1e-4, atol=1e-5)


def test_predicting_inside_a_compiled_function_gives_the_same(lupi, observations, prediction):
    inside = jax.jit(
        lambda context: predict(lupi, context, TIMES, num_samples=16, key=jax.random.key(0)).mean
    )(observations)
    np.testing.assert_allclose(inside, prediction.mean, rtol=1e-4, atol=1e-5)


def test_results_are_numpys_outside_compiled_functions(prediction):
    for part in ("ts", "means", "scales", "mean", "std", "samples"):
        assert isinstance(getattr(prediction, part), np.ndarray), part
    assert isinstance(prediction.quantile(0.5), np.ndarray)


def test_without_observations_the_prediction_is_the_prior(lupi, observations):
    """However it is said that there are none."""
    none = predict(lupi, Observations.none(2), TIMES, num_samples=16, key=jax.random.key(0))
    masked = predict(
        lupi,
        observations.only(jnp.zeros(10, dtype=bool)),
        TIMES,
        num_samples=16,
        key=jax.random.key(0),
    )
    np.testing.assert_allclose(none.means, masked.means, rtol=1e-5, atol=1e-6)
    prior = lupi.encode(Observations.none(2)).latent
    expected = lupi.without_privileged().global_latent(jnp.zeros(32))
    np.testing.assert_allclose(prior.loc, expected.loc, rtol=1e-6)
    assert np.isfinite(none.samples).all()


def test_many_systems_are_predicted_as_each_is_alone(lupi, tasks):
    keys = jax.random.split(jax.random.key(0), 12)
    ts = np.broadcast_to(np.asarray(TIMES), (12, 9))
    many = predict_many(lupi, tasks.observations, ts, num_samples=4, keys=keys)
    for i in (0, 7):
        alone = predict(lupi, tasks[i].observations, TIMES, num_samples=4, key=keys[i])
        np.testing.assert_allclose(many.means[i], alone.means, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(many.samples[i], alone.samples, rtol=1e-4, atol=1e-4)


def test_numbers_do_not_depend_on_how_many_threads_compute_them(lupi, tasks):
    seen, found = tasks.observations, {}
    for number in (1, 3):
        how = {"num_samples": 8, "threads": number, "keys": jax.random.key(0)}
        parts = predict_in_parts(lupi, seen, seen.ts, **how)
        sizes, means = zip(*((len(part.ts), part.means) for part in parts), strict=True)
        assert len(sizes) == number  # so that the threads have something to do
        found[number] = np.concatenate(means)
    np.testing.assert_array_equal(found[1], found[3])


def test_of_many_systems_as_many_are_held_at_once_as_memory_is_meant_for(lupi, tasks, monkeypatch):
    seen, how = tasks.observations, {"num_samples": 8, "keys": jax.random.key(0)}
    (whole,) = predict_in_parts(lupi, seen, seen.ts, **how)
    monkeypatch.setattr(prediction_module, "NUMBERS_AT_ONCE", 2 * 8 * seen.ts.shape[1] * 2)
    parts = list(predict_in_parts(lupi, seen, seen.ts, threads=4, **how))
    assert [len(part.ts) for part in parts] == [2] * 6
    found = np.concatenate([part.means for part in parts])
    np.testing.assert_allclose(found, whole.means, rtol=1e-5, atol=1e-6)


def test_times_may_be_traced(lupi, observations):
    """Those beyond 1 are then solved with longer steps, and are about the same."""

    def means(times):
        return predict(lupi, observations, times, num_samples=16, key=jax.random.key(0)).means

    times = jnp.array([0.0, 0.4, 1.0])
    np.testing.assert_allclose(eqx.filter_jit(means)(times), means(times), rtol=1e-4, atol=1e-5)
    beyond = 1.5 * times
    np.testing.assert_allclose(eqx.filter_jit(means)(beyond), means(beyond), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("room", "at_once"), [(128, 128), (127, 16), (15, 2), (1, 1)])
def test_side_by_side_as_many_are_computed_as_memory_is_meant_for(
    lupi, tasks, monkeypatch, room, at_once
):
    sizes = []

    def counted(function, *, brief):
        def run(function, predictor, arrays, how, turns):
            sizes.append(len(arrays[-1]))
            shape = (len(arrays[-1]), 4, 9, 2)
            return np.zeros(shape), np.ones(shape), arrays[-1], None

        return run

    ts = np.broadcast_to(np.asarray(TIMES), (12, 9))
    many = jax.tree.map(lambda leaf: np.concatenate([leaf] * 11), (tasks.observations, ts))
    monkeypatch.setattr(prediction_module, "compiled", counted)
    monkeypatch.setattr(prediction_module, "NUMBERS_AT_ONCE", room * 4 * 9 * 2)
    predict_many(lupi, *many, num_samples=4, keys=jax.random.key(0))
    assert sizes == [at_once] * -(-132 // at_once)


def test_as_training_sees_it_privileged_values_have_their_say(lupi, tasks):
    keys = jax.random.split(jax.random.key(0), 12)
    ts = np.broadcast_to(np.asarray(TIMES), (12, 9))

    def means(tasks):
        return predict_in_training(lupi, tasks, ts, num_samples=4, keys=keys).means

    unknown = Task(tasks.observations, np.full_like(tasks.privileged, np.nan))
    at_test = predict_many(lupi, tasks.observations, ts, num_samples=4, keys=keys).means
    assert np.abs(means(tasks) - at_test).max() > 1e-4
    np.testing.assert_allclose(means(unknown), at_test, rtol=1e-4, atol=1e-5)
