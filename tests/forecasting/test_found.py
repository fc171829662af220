"""What a forecast finds out of a system beside its trajectory, after a short training."""

import jax
import numpy as np
import pandas as pd
import pytest

import lupi
from lupi._machinery.module_arrays import arrays_of, module_of
from lupi.errors import UserError
from lupi.forecasting.fitted import Fitted
from lupi.forecasting.forecast import information_gain
from lupi.inference import Amortised, Family, InferringPredictor
from lupi.prediction import predict_many

pytestmark = pytest.mark.slow  # it trains; what it tests of the search is in tests/inference

COLUMNS = {"series": "run", "time": "t", "observed": ["x", "y"], "privileged": ["k"]}
TIMES = np.linspace(0, 5, 21)


def make_runs(number: int, seed: int, **constants: float) -> pd.DataFrame:
    """Oscillations whose frequency is k, a little noisy."""
    rng = np.random.default_rng(seed)
    runs = []
    for i in range(number):
        k, t = rng.uniform(1, 2), np.sort(rng.uniform(0, 5, 12))
        k = constants.get("k", k)
        x, y = 10 + np.sin(k * t), 100 * np.cos(k * t)
        run = pd.DataFrame({"run": i, "t": t, "x": x, "y": y, "k": k})
        run["x"] += 0.02 * rng.standard_normal(len(t))
        run["y"] += 2.0 * rng.standard_normal(len(t))
        runs.append(run)
    return pd.concat(runs, ignore_index=True)


@pytest.fixture(scope="module")
def trained() -> lupi.Forecaster:
    settings = lupi.forecaster_settings(
        members=1,
        blend=False,
        process={"hidden_size": 16, "representation_size": 16, "global_latent_size": 4},
        train={"epochs": 150, "learning_rate": 1e-2, "context_sizes": (2, 6)},
    )
    table = lupi.read_series(make_runs(60, 0), **COLUMNS)
    return lupi.Forecaster(settings).fit(table, seed=0, progress=False)


@pytest.fixture(scope="module")
def new_runs() -> pd.DataFrame:
    return make_runs(30, 1)


@pytest.fixture(scope="module")
def forecast(trained, new_runs):
    shown = new_runs.groupby("run").head(6)
    return trained.predict(shown.drop(columns="k"), TIMES)


def truth_of(runs: pd.DataFrame) -> np.ndarray:
    return runs.groupby("run")["k"].first().to_numpy()


def test_it_beats_the_encoder_alone(trained, new_runs):
    evaluation = lupi.evaluate(trained, lupi.read_series(new_runs, **COLUMNS), seed=0)
    alone = lupi.Forecaster(trained.settings.model_copy(update={"inference": Amortised()}))
    fitted = trained._get()
    alone._fitted = Fitted(
        alone.settings, fitted.members, fitted.normalisation, fitted.columns, fitted.provenance
    )
    encoder = lupi.evaluate(alone, lupi.read_series(new_runs, **COLUMNS), seed=0)
    for name in ("x", "y"):
        refined = evaluation.metrics[name]
        assert refined["crps"].mean < 0.8 * encoder.metrics[name]["crps"].mean
        assert 0.8 < refined["coverage_90"].mean < 0.98
    assert evaluation.privileged["k"]["r2"] > 0.9


def test_the_privileged_value_is_recovered_in_its_own_unit(forecast, new_runs):
    k, found = truth_of(new_runs), forecast.privileged
    assert found.mean.shape == found.std.shape == (30, 1)
    assert 1 - np.mean((found.mean[:, 0] - k) ** 2) / np.var(k) > 0.9
    lower, upper = found.interval(coverage=0.9)
    inside = (lower[:, 0] <= k) & (k <= upper[:, 0])
    assert inside.mean() > 0.7
    samples = found.samples
    assert samples.shape == (64, 30, 1)
    np.testing.assert_allclose(samples.mean(axis=0), found.mean, atol=3 * found.std.max() / 8)


def test_what_was_found_of_each_run_is_one_table(forecast):
    table = forecast.systems(coverage=0.5)
    assert list(table.columns) == [
        "run",
        "k",
        "k_std",
        "k_lower",
        "k_upper",
        "surprise",
        "effective_share",
    ]
    assert len(table) == 30
    # A standard deviation over one run is rounded otherwise than one over thirty, in float32.
    of_seven = table[table["run"] == 7].reset_index(drop=True)
    pd.testing.assert_frame_equal(forecast[7].systems(coverage=0.5), of_seven, rtol=1e-6)
    assert ((table["surprise"] >= 0) & (table["surprise"] <= 1)).all()
    assert ((table["effective_share"] > 0) & (table["effective_share"] <= 1.0001)).all()


def test_strangers_are_named_and_others_are_not(trained, forecast):
    assert len(forecast.strangers) <= 3
    strange = make_runs(8, 2, k=4.0).groupby("run").head(6).drop(columns="k")
    assert len(trained.predict(strange, TIMES).strangers) >= 6
    in_another_unit = make_runs(8, 3).groupby("run").head(6).drop(columns="k")
    in_another_unit["y"] *= 3
    assert len(trained.predict(in_another_unit, TIMES).strangers) >= 6


def test_a_known_privileged_value_sharpens_the_forecast(trained, new_runs):
    one = new_runs[new_runs["run"] == 3]
    k = float(one["k"].iloc[0])
    shown = one.drop(columns=["k", "run"]).head(2)
    without = trained.predict(shown, TIMES)
    knowing = trained.predict(shown, TIMES, privileged={"k": k})
    by_series = trained.predict(one.drop(columns="k").head(2), TIMES, privileged={3: {"k": k}})
    np.testing.assert_array_equal(by_series.mean, knowing.mean)
    assert knowing.privileged.std[0, 0] < 0.5 * without.privileged.std[0, 0]
    assert knowing.std.mean() < without.std.mean()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": 1.0}, "expected a value for each of k"),
        ({"k": "much"}, "expected a finite number"),
        ({9: {"k": 1.0}}, "names the series 9, not among the observations"),
    ],
)
def test_wrong_privileged_values_are_refused(trained, new_runs, given, message):
    shown = new_runs[new_runs["run"] == 3].drop(columns="k")
    with pytest.raises(UserError, match=message):
        trained.predict(shown, TIMES, privileged=given)


def test_the_next_time_to_look_is_where_the_systems_it_could_be_differ_most(trained, new_runs):
    shown = new_runs[new_runs["run"] == 3].drop(columns=["k", "run"]).head(2)
    forecast = trained.predict(shown, TIMES)
    best = forecast.best_next_time()
    assert list(best.columns) == ["t", "gain"]
    assert best["t"][0] in TIMES
    spread = (forecast.mixture.means.std(axis=0) / forecast.mixture.scales.mean(axis=0)).max(axis=1)
    at_best = spread[np.searchsorted(TIMES, best["t"][0])]
    assert at_best > 0.7 * spread.max()
    gains = information_gain(forecast.mixture, forecast.spans, forecast.seen_spans)
    assert best["gain"][0] == pytest.approx(gains.max())


def test_the_file_holds_all_that_is_known_of_the_family(trained, new_runs, tmp_path):
    trained.save(tmp_path / "model.lupi")
    again = lupi.load(tmp_path / "model.lupi")
    shown = new_runs[new_runs["run"] == 3].drop(columns=["k", "run"]).head(5)
    first, second = trained.predict(shown, TIMES), again.predict(shown, TIMES)
    np.testing.assert_array_equal(first.mean, second.mean)
    assert first.systems().equals(second.systems())
    assert not first.systems().isna().any(axis=None)


def test_a_damaged_family_is_refused(trained):
    arrays = arrays_of(trained._get().members[0].family, "family.")
    assert module_of(Family, {}, "family.", "x", {}) is None
    for name, change, message in (
        ("family.members", lambda a: a[:, :-1], "expected active"),
        ("family.grid", lambda a: a[None], "expected 1 dimensions"),
        ("family.prior.means", lambda a: a * np.nan, "not finite"),
        ("family.reader.inputs", None, "there is no reader.inputs"),
    ):
        damaged = {k: v for k, v in arrays.items() if k != name}
        if change is not None:
            damaged[name] = change(arrays[name])
        with pytest.raises(UserError, match=message):
            module_of(Family, damaged, "family.", "model.lupi is damaged", {})


def test_a_predictor_without_a_family_finds_nothing(trained, new_runs):
    predictor = InferringPredictor(trained.processes[0], Amortised())
    seen = lupi.Observations(np.zeros((1, 3), np.float32), np.zeros((1, 3, 2), np.float32))
    times = np.linspace(0, 1, 5, dtype=np.float32)[None]
    key = jax.random.key(0)
    found = predict_many(predictor, seen, times, num_samples=4, keys=key)
    assert found.findings is None
