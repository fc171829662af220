"""Questions larger than memory, forecasts that are none, and what is warned of."""

import resource
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import lupi
from lupi._machinery import memory
from lupi.distributions import Normal
from lupi.errors import UserError, UserNotice
from lupi.forecasting import answers, questions
from lupi.models import AbstractPredictor, Findings, Prediction

OLD_FILES = Path(__file__).parents[1] / "old_files"


def observed(number: int, run: str = "a") -> pd.DataFrame:
    """So many observations of a run within the time of the training data."""
    t = np.linspace(0.1, 4.5, number)
    return pd.DataFrame({"run": run, "t": t, "x": 10 + np.sin(t), "y": 70 * np.cos(t)})


NEW = pd.concat([observed(3, "a"), observed(4, "b")])


@pytest.fixture(scope="module")
def old() -> lupi.Forecaster:
    with pytest.warns(UserNotice, match="without a checksum"):
        return lupi.load(OLD_FILES / "forecaster.lupi")


def test_many_times_are_computed_in_parts_of_bounded_size_and_are_what_few_are(old, monkeypatch):
    times = np.random.default_rng(0).uniform(2, 4.9, 700)
    alone = [old.predict(NEW, times[i : i + 128])["b"] for i in range(0, 700, 128)]
    sizes = []

    def counted(predictor, contexts, times, **how):
        sizes.append(times.shape)
        return predict_in_parts(predictor, contexts, times, **how)

    predict_in_parts = answers.predict_in_parts
    monkeypatch.setattr(answers, "predict_in_parts", counted)
    monkeypatch.setattr(answers, "NUMBERS_AT_ONCE", 2 * 64 * 128)
    in_parts = old.predict(NEW, times)
    assert sizes == [(2 * 6, 128)]  # each run in six parts of 128 times
    for name in ("mean", "std", "times"):
        expected = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_array_equal(getattr(in_parts["b"], name), expected)


@pytest.fixture
def few_at_once(monkeypatch):
    """As many samples as are drawn at least, so that 200 are very many."""
    monkeypatch.setattr(answers, "SAMPLES_AT_ONCE", 64)


def test_very_many_samples_are_of_one_distribution_and_begin_with_those_of_few(old, few_at_once):
    few, many = (old.predict(NEW, [1.0, 2.0], num_samples=n).mixture for n in (64, 1000))
    assert many.means.shape == (1000, 4, 2)
    np.testing.assert_allclose(many.means[:64], few.means, rtol=1e-4, atol=1e-6)
    assert len(np.unique(many.means[:, 0, 0])) == 1000  # each drawn anew
    parts = many.means[:960].reshape(15, 64, -1).mean(axis=1)
    error = many.means.std(axis=0).ravel() / 8  # of the mean of 64 draws
    assert 0.6 < (parts.std(axis=0) / error).mean() < 1.4


def test_another_number_of_very_many_samples_compiles_nothing(old, few_at_once, compilations):
    old.predict(NEW, [1.0, 2.0], num_samples=300)
    compilations.clear()
    old.predict(NEW, [1.0, 2.0, 3.0], num_samples=700)
    assert compilations == []


def test_of_very_many_samples_so_many_are_computed_at_once(old, few_at_once, monkeypatch):
    asked = []

    def counted(predictor, contexts, times, **how):
        asked.append((*times.shape, how["num_samples"]))
        return predict_in_parts(predictor, contexts, times, **how)

    predict_in_parts = answers.predict_in_parts
    monkeypatch.setattr(answers, "predict_in_parts", counted)
    old.predict(NEW, [1.0, 2.0], num_samples=200)
    assert asked == [(2 * 4, 16, 64)]  # of each run four parts of 64 samples, at 16 times


class _Level(AbstractPredictor):
    """A level that is not known, and found as the privileged value."""

    observation_size: int = 2

    def predict(self, context, times, *, num_samples, horizon, key) -> Prediction:
        """Each sample has its own at all times."""
        level = jax.random.normal(key, (num_samples, 1))
        means = jnp.broadcast_to(level[:, :, None], (num_samples, len(times), 2))
        found = Findings(Normal(level, jnp.ones_like(level)), *(level[0, 0],) * 3)
        return Prediction(jnp.asarray(times), means, jnp.ones_like(means), key, found)


def test_each_of_very_many_samples_keeps_its_privileged_value(old, few_at_once, monkeypatch):
    monkeypatch.setitem(old._get().__dict__, "without_privileged", _Level())
    forecast = old.predict(NEW, [1.0, 2.0], num_samples=200)
    found = np.asarray(forecast.privileged.mixture.means)
    assert found.shape == (200, 2, 1)
    np.testing.assert_array_equal(found[:, :, 0], forecast.mixture.means[:, [0, 2], 0])
    # Of what each part says of the run, the mean.
    np.testing.assert_allclose(forecast.surprise, found[::64, :, 0].mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("more", [{"num_samples": 1_000_000}, {"times": np.zeros(1_000_000)}])
def test_where_memory_ends_there_is_a_message(old, monkeypatch, more):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    with pytest.raises(UserError, match=r"a forecast of .* samples at .* GB are free: ask for few"):
        old.predict(NEW, **more)


def test_simulating_more_than_memory_holds_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    with pytest.raises(UserError, match=r"simulating 2,000,000,000 systems at 3 times would take"):
        lupi.simulate(lupi.DampedOscillators(), np.arange(3.0), 2 * 10**9, key=jax.random.key(0))


def test_of_very_many_observations_some_are_taken_from_all_over(old, monkeypatch):
    monkeypatch.setattr(questions, "MOST_SEEN", 16)
    table = lupi.read_series(observed(1000), time="t", observed=["x", "y"])
    thin = questions.thinned(table)
    assert thin.lengths.tolist() == [16]
    assert thin.times[[0, -1]].tolist() == table.times[[0, -1]].tolist()
    assert np.ptp(np.diff(thin.times)) < 0.02
    few = old.predict(
        pd.DataFrame({"t": thin.times, "x": thin.values[:, 0], "y": thin.values[:, 1]})
    )
    np.testing.assert_array_equal(old.predict(observed(1000).drop(columns="run")).mean, few.mean)


def test_a_run_whose_forecast_is_not_finite_is_refused_and_the_others_are_forecast(
    old, monkeypatch
):
    answer = answers.answer_question

    def broken(*arguments):
        found = answer(*arguments)
        found.mixture.means[0, 3] = np.nan  # the second time of the second run
        return found

    monkeypatch.setattr("lupi.forecasting.forecaster.answer_question", broken)
    whole, forecast = old.predict(NEW, [1.0, 2.0], by="lupi"), old.predict(NEW, [1.0, 2.0])
    assert forecast.series == ["a"]
    assert "runs away, at 2.0" in forecast.refused["b"]
    np.testing.assert_array_equal(forecast.mean, whole["a"].mean)
    assert forecast.to_dataframe()["x"].isna().tolist() == [False, False, True]


def test_where_all_forecasts_run_away_that_is_an_error(old, monkeypatch):
    monkeypatch.setattr(answers, "RUNAWAY", 1e-3)
    with pytest.raises(UserError, match=r"series 'a' cannot be forecast: .* ask for times before"):
        old.predict(NEW, [1.0, 2.0])


@pytest.mark.parametrize(("number", "warns"), [(1, True), (2, False), (5, False), (60, True)])
def test_numbers_of_observations_that_training_knows_nothing_of_are_warned_of(old, number, warns):
    assert old.settings.train.context_sizes == (2, 5)
    warnings = old.predict(observed(number), [1.0, 2.0]).warnings
    assert bool(warnings) == warns
    if warns:
        assert f"series 'a' has {number} observations: " in warnings[0]
        assert "learnt to forecast from 2 to 5" in warnings[0]


def test_times_beyond_the_training_data_are_warned_of(old):
    (warning,) = old.predict(observed(3), [1.0, 10.0]).warnings
    assert warning.startswith("1 of 2 times lie beyond the time of the training data")


def test_samples_of_which_hardly_any_count_are_told(old):
    forecast = old.predict(observed(3), [1.0, 2.0])
    (warning,) = replace(forecast, effective_share=np.array([0.05])).warnings
    assert warning.startswith("the samples of 'a' are the model's best guess")
    assert not replace(forecast, effective_share=np.array([0.2])).warnings


def test_a_blended_forecaster_has_learnt_from_few_observations_and_many():
    assert lupi.forecaster_settings().sizes_learnt_from == (0, 32)
    assert lupi.forecaster_settings("paper").sizes_learnt_from == (5, 9)


@pytest.mark.slow
def test_a_million_samples_are_forecast_in_bounded_memory(old):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    forecast = old.predict(observed(3), [1.0, 2.0], num_samples=1_000_000)
    few = old.predict(observed(3), [1.0, 2.0], num_samples=1_000)
    assert forecast.samples.shape == (1_000_000, 2, 2)
    lower, upper = forecast.interval()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6 < 1  # GB
    # Both are of the same distribution, and the error of the few is a thirtieth of its scale.
    np.testing.assert_allclose(few.mean, forecast.mean, atol=0.2 * forecast.std.min())
    for end, own in zip((lower, upper), few.interval(), strict=True):
        assert (np.abs(own - end) < 0.3 * forecast.std).all()
