"""The forecaster on small tables: laws of its forecasts, and training that survives."""

import contextlib
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lupi
from lupi._machinery.array_files import read_arrays, write_arrays
from lupi.data.writing import write_table
from lupi.errors import UserError, UserNotice
from lupi.forecasting import learning, networks
from lupi.training import loop

COLUMNS = {"series": "run", "time": "t", "observed": ["x", "y"], "privileged": ["k"]}
SMALL = lupi.forecaster_settings(
    inference="amortised",
    members=1,
    blend=False,
    process={"hidden_size": 8, "representation_size": 8},
    train={"epochs": 3, "batch_size": 4, "context_sizes": (2, 5)},
)
OLD_FILES = Path(__file__).parents[1] / "old_files"


def make_runs(num_runs: int = 12, *, gaps: bool = False) -> pd.DataFrame:
    """Oscillations of different frequency, length and times."""
    rng = np.random.default_rng(0)
    runs = []
    for i in range(num_runs):
        k, n = rng.uniform(1, 3), rng.integers(6, 15)
        t = np.sort(rng.uniform(0, 5, n))
        run = pd.DataFrame({"run": f"r{i:02}", "t": t, "x": 10 + np.sin(k * t), "k": k})
        run["y"] = 100 * np.cos(k * t)
        if gaps:
            run.loc[rng.random(n) < 0.3, "y"] = np.nan
            run.loc[0, "y"] = 1.0
        if gaps and i % 3 == 0:
            run["k"] = np.nan
        runs.append(run)
    return pd.concat(runs, ignore_index=True)


RUNS = make_runs()
NEW = RUNS[RUNS["run"] == "r03"].iloc[:5].drop(columns="k")
TIMES = [0.0, 0.5, 4.0, 2.0, 7.0]


def fit(runs: pd.DataFrame, **options) -> lupi.Forecaster:
    chosen = options.pop("settings", SMALL)
    return lupi.Forecaster(chosen).fit(lupi.read_series(runs, **COLUMNS), seed=0, **options)


@pytest.fixture(scope="module")
def trained() -> lupi.Forecaster:
    return fit(RUNS)


def test_a_forecast_of_one_run_has_a_row_for_each_time(trained):
    forecast = trained.predict(NEW, TIMES)
    lower, upper = forecast.interval(coverage=0.9)
    assert forecast.mean.shape == forecast.std.shape == lower.shape == (5, 2)
    assert forecast.samples.shape == (64, 5, 2)
    assert forecast.times.tolist() == TIMES
    assert (lower < forecast.mean).all()
    assert (forecast.mean < upper).all()
    np.testing.assert_allclose(forecast.quantile(0.05), lower)
    assert 5 < forecast.mean[:, 0].mean() < 15  # original units


def test_std_and_quantiles_are_those_of_the_samples(trained):
    number = 4096
    forecast = trained.predict(NEW, TIMES, num_samples=number)
    samples, mean, std = forecast.samples, forecast.mean, forecast.std

    def assert_within(found, expected, standard_error) -> None:
        assert (np.abs(found - expected) < 5 * standard_error).all()

    assert_within(samples.mean(axis=0), mean, std / np.sqrt(number))
    kurtosis = (((samples - mean) / std) ** 4).mean(axis=0)
    assert_within(samples.std(axis=0), std, std * np.sqrt((kurtosis - 1) / (4 * number)))
    for level in (0.05, 0.5, 0.9):
        expected = forecast.quantile(level)
        density = np.exp(forecast.log_density(expected))
        error = np.sqrt(level * (1 - level) / number) / density
        assert_within(np.quantile(samples, level, axis=0), expected, error)


def test_density_and_probability_are_those_of_the_same_distribution(trained):
    forecast = trained.predict(NEW, TIMES)
    # Wide enough that the difference of two float32 has four digits, narrow enough for a slope.
    values, step = forecast.mean + 0.3 * forecast.std, 1e-3 * forecast.std
    above, below = (forecast.probability_below(values + s * step) for s in (1, -1))
    np.testing.assert_allclose(
        np.exp(forecast.log_density(values)), (above - below) / (2 * step), rtol=1e-3
    )


def test_several_runs_at_once_are_forecast_as_each_alone(trained):
    several = RUNS[RUNS["run"].isin(["r01", "r03", "r07"])].drop(columns="k")
    times = {"r01": [1.0], "r03": [0.5, 3.0], "r07": [4.0, 2.0, 1.0]}
    together = trained.predict(several, times)
    assert together.series == ["r01", "r03", "r07"]
    assert together.labels.tolist() == ["r01"] + 2 * ["r03"] + 3 * ["r07"]
    for label, of_label in times.items():
        alone = trained.predict(several[several["run"] == label], of_label)
        np.testing.assert_array_equal(together[label].samples, alone.samples)


def test_one_run_needs_no_series_column(trained):
    named, nameless = trained.predict(NEW, TIMES), trained.predict(NEW.drop(columns="run"), TIMES)
    np.testing.assert_array_equal(named.samples, nameless.samples)
    assert "run" not in nameless.to_dataframe()


def test_frames_and_datasets_carry_the_labels(trained):
    forecast = trained.predict(NEW, TIMES)
    frame = forecast.to_dataframe(coverage=0.5)
    assert frame.columns.tolist() == (
        ["run", "t", "x", "x_std", "x_lower", "x_upper", "y", "y_std", "y_lower", "y_upper"]
    )
    np.testing.assert_allclose(frame["x_lower"], forecast.interval(coverage=0.5)[0][:, 0])
    dataset = forecast.to_xarray()
    assert dataset["mean"].sel(observed="y").shape == (5,)
    assert dataset["t"].values.tolist() == TIMES
    figure = forecast.plot()
    assert [panel.get_ylabel() for panel in figure.axes] == ["x", "y"]


def test_units_label_what_is_shown(trained, tmp_path):
    units = {"x": "m", "t": "s"}
    tasks = lupi.read_series(RUNS, **COLUMNS, units=units)
    forecaster = lupi.Forecaster(SMALL).fit(tasks, progress=False)
    forecaster.save(tmp_path / "model.lupi")
    forecast = lupi.load(tmp_path / "model.lupi").predict(NEW, TIMES)
    panels = forecast.plot().axes
    assert [panel.get_ylabel() for panel in panels] == ["x [m]", "y"]
    assert panels[0].get_xlabel() == "t [s]"
    np.testing.assert_array_equal(forecast.samples, trained.predict(NEW, TIMES).samples)


def test_a_saved_forecaster_forecasts_the_same_numbers(trained, tmp_path):
    trained.save(tmp_path / "model.lupi")
    loaded = lupi.load(tmp_path / "model.lupi")
    np.testing.assert_array_equal(
        loaded.predict(NEW, TIMES).samples, trained.predict(NEW, TIMES).samples
    )
    assert loaded.provenance == trained.provenance
    assert loaded.columns == trained.columns


def test_a_file_that_asks_for_a_giant_network_is_refused(trained, tmp_path):
    path = tmp_path / "model.lupi"
    trained.save(path)
    header, arrays = read_arrays(path, kind="forecaster")
    header["process"]["settings"]["hidden_size"] = 10**12
    write_arrays(path, arrays, header, kind="forecaster")
    with pytest.raises(UserError, match="does not say what the model is"):
        lupi.load(path)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_observations_does_not_matter(trained, seed):
    shuffled = NEW.sample(frac=1.0, random_state=seed)
    np.testing.assert_array_equal(
        trained.predict(shuffled, TIMES).samples, trained.predict(NEW, TIMES).samples
    )


@settings(max_examples=8, deadline=None)
@given(times=st.lists(st.floats(0, 5), min_size=1, max_size=4))
def test_rows_without_any_value_change_nothing(trained, times):
    empty = pd.DataFrame({"run": "r03", "t": times, "x": np.nan, "y": np.nan})
    padded = pd.concat([NEW, empty[~empty["t"].isin(NEW["t"])]])
    np.testing.assert_array_equal(
        trained.predict(padded, TIMES).samples, trained.predict(NEW, TIMES).samples
    )


def test_the_order_of_training_rows_does_not_matter(trained):
    shuffled = fit(RUNS.sample(frac=1.0, random_state=1))
    np.testing.assert_array_equal(
        shuffled.predict(NEW, TIMES).samples, trained.predict(NEW, TIMES).samples
    )


@settings(max_examples=3, deadline=None)
@given(
    scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3), clock=st.sampled_from([1e-3, 60.0, 1e4])
)
def test_other_units_give_the_same_forecast_in_those_units(trained, scale, shift, clock):
    def convert(frame: pd.DataFrame) -> pd.DataFrame:
        converted = frame.assign(x=frame["x"] * scale + shift, t=frame["t"] * clock)
        return converted.assign(k=frame["k"] / 7) if "k" in frame else converted

    other = fit(convert(RUNS)).predict(convert(NEW), np.array(TIMES) * clock)
    forecast = trained.predict(NEW, TIMES)
    np.testing.assert_allclose(
        (other.mean[:, 0] - shift) / scale, forecast.mean[:, 0], rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(other.std[:, 0] / scale, forecast.std[:, 0], rtol=1e-2)
    np.testing.assert_allclose(other.mean[:, 1], forecast.mean[:, 1], rtol=1e-2, atol=0.1)


def test_gaps_and_missing_privileged_values_are_trained_on():
    runs = make_runs(gaps=True)
    forecaster = fit(runs)
    new = runs[runs["run"] == "r03"].iloc[:5].drop(columns="k")
    assert np.isfinite(forecaster.predict(new, TIMES).mean).all()
    assert forecaster.provenance["data"]["gaps"]


def test_dates_go_in_and_come_out():
    start = pd.Timestamp("2026-01-01")
    dated = RUNS.assign(t=start + pd.to_timedelta(RUNS["t"], unit="D"))
    forecaster = fit(dated)
    new = dated[dated["run"] == "r03"].iloc[:5].drop(columns="k")
    forecast = forecaster.predict(new, [new["t"].iloc[0], new["t"].iloc[-1] + pd.Timedelta("2D")])
    assert forecast.times[1] == np.datetime64(new["t"].iloc[-1] + pd.Timedelta("2D"))
    with pytest.raises(UserError, match="expected times that are dates"):
        forecaster.predict(new, [1.0, 2.0])


@pytest.mark.parametrize(
    ("observations", "times", "message"),
    [
        (NEW.drop(columns="x"), TIMES, "column 'x': expected a column of this name"),
        (NEW, [], "one or more finite numbers"),
        (NEW, [np.nan], "one or more finite numbers"),
        (NEW, ["soon"], "expected times that are numbers"),
        (NEW, [-1.0], r"times go back to -1.0, but the model has learnt from 0.0 on"),
        (NEW, [1e6], "more than 64 times the span"),
        (NEW, {"r99": [1.0]}, "has none for series 'r03'"),
        (NEW.assign(y=[1.0, np.nan, 2.0, 3.0, 4.0]), TIMES, "trained on series without gaps"),
        (NEW.assign(t=pd.to_datetime(NEW["t"], unit="D")), TIMES, "are dates, the model was"),
        (NEW.iloc[:0], TIMES, "row"),
        (NEW.assign(t=NEW["t"] - 9), TIMES, r"observation at -[\d.]+, but the model has learnt"),
        (NEW.assign(t=NEW["t"] * 60), TIMES, r"has learnt from 0.0 to [\d.]+: leave it out"),
        (NEW.assign(x=NEW["x"] * 1e6), TIMES, "x = 1.*standard deviations from the training mean"),
        (NEW.rename(columns={"run": "Run"}), TIMES, "expected the series column 'run'"),
        (NEW, [[1.0, 2.0]], "times must be one list of numbers or dates"),
    ],
)
def test_observations_and_times_that_make_no_sense_are_refused(
    trained, observations, times, message
):
    with pytest.raises(UserError, match=message):
        trained.predict(observations, times)


def test_one_setting_of_the_process_leaves_the_presets_others():
    default = lupi.forecaster_settings().process
    wider = lupi.forecaster_settings(process={"hidden_size": 64}).process
    assert wider == default.model_copy(update={"hidden_size": 64})
    paper = lupi.forecaster_settings("paper").process
    assert paper == lupi.NeuralODEProcessSettings(marks_gaps=True)


def test_an_untrained_forecaster_says_so():
    with pytest.raises(UserError, match="call `fit` first"):
        lupi.Forecaster().predict(NEW, TIMES)


def test_an_unknown_preset_is_refused():
    with pytest.raises(UserError, match="unknown preset 'fast': expected one of default, paper"):
        lupi.Forecaster("fast")


def test_columns_that_would_collide_in_a_forecast_are_refused_before_training():
    runs = RUNS.rename(columns={"y": "x_std"})
    tasks = lupi.read_series(runs, series="run", time="t", observed=["x", "x_std"])
    with pytest.raises(UserError, match="x_std would be there twice: rename it"):
        lupi.Forecaster(SMALL).fit(tasks)


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    tasks = lupi.read_series(RUNS, **COLUMNS)
    lupi.Forecaster(SMALL).fit(tasks, checkpoint=tmp_path / "half")
    monkeypatch.setattr(learning, "version", lambda name: "9.9")
    with pytest.raises(UserError, match=r"versions.jax was .*, is '9.9'"):
        lupi.Forecaster(SMALL).fit(tasks, checkpoint=tmp_path / "half")


def test_one_series_is_not_enough_to_train_on():
    with pytest.raises(UserError, match="there is 1 series, training needs at least 2"):
        lupi.Forecaster().fit(lupi.read_series(NEW, series="run", time="t", observed="x"))


class CrashError(Exception):
    """Like a crash: nothing gets to tidy up."""


def stop_after(epoch: int, error: type[BaseException]):
    def on_epoch(row) -> None:
        if row["epoch"] == epoch:
            raise error

    return on_epoch


def test_an_interrupted_training_keeps_the_best_so_far(tmp_path):
    stopped = fit(RUNS, on_epoch=stop_after(2, KeyboardInterrupt))
    assert stopped.provenance["interrupted"]
    assert stopped.provenance["epochs"] == 2
    assert np.isfinite(stopped.predict(NEW, TIMES).mean).all()


@pytest.mark.parametrize("error", [KeyboardInterrupt, CrashError])
def test_a_resumed_training_equals_one_that_never_stopped(trained, tmp_path, monkeypatch, error):
    monkeypatch.setattr(networks, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    path, seen = tmp_path / "checkpoint", []
    with contextlib.suppress(CrashError):
        fit(RUNS, checkpoint=path, on_epoch=stop_after(2, error))
    resumed = fit(RUNS, checkpoint=path, on_epoch=lambda row: seen.append(row["epoch"]))
    assert seen[0] > 1
    np.testing.assert_array_equal(
        resumed.predict(NEW, TIMES).samples, trained.predict(NEW, TIMES).samples
    )


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    fit(RUNS, checkpoint=path)
    with pytest.raises(UserError, match=r"of another training \(data was .*, is "):
        fit(RUNS.assign(x=RUNS["x"] + 1), checkpoint=path)
    slower = SMALL.train.model_copy(update={"learning_rate": 1e-4})
    change = rf"\(settings.train.learning_rate was {SMALL.train.learning_rate}, is 0.0001\)"
    with pytest.raises(UserError, match=change):
        fit(RUNS, settings=SMALL.model_copy(update={"train": slower}), checkpoint=path)


def test_a_loss_that_is_not_a_number_keeps_what_was_good(tmp_path):
    wild = SMALL.model_copy(update={"train": SMALL.train.model_copy(update={"epochs": 20})})
    table = lupi.read_series(RUNS, **COLUMNS)
    forecaster = lupi.Forecaster(wild)

    def spoil(row) -> None:
        if row["epoch"] == 3:
            raise UserError("the loss stopped being a number in step 1 of epoch 4.")

    with pytest.raises(UserError, match=r"step 1 of epoch 4\. What was best before is kept"):
        forecaster.fit(table, seed=0, checkpoint=tmp_path / "checkpoint", on_epoch=spoil)
    assert (tmp_path / "checkpoint").exists()
    assert np.isfinite(forecaster.predict(NEW, TIMES).mean).all()


def test_privileged_columns_may_be_absent():
    tasks = lupi.read_series(RUNS, series="run", time="t", observed=["x", "y"])
    forecaster = lupi.Forecaster(SMALL).fit(tasks)
    assert not forecaster.processes[0].uses_privileged
    assert np.isfinite(forecaster.predict(NEW, TIMES).mean).all()


def test_a_held_out_series_may_be_longer_than_all_others():
    last = RUNS.groupby("run")["t"].idxmax()
    extended = RUNS.copy()
    extended.loc[last, "t"] = RUNS["t"].max() + np.arange(len(last))
    tasks = lupi.read_series(extended, **COLUMNS)
    for seed in range(3):
        assert lupi.Forecaster(SMALL).fit(tasks, seed=seed).provenance["epochs"] == 3


def test_dated_series_are_evaluated_and_keep_their_timezone(tmp_path):
    start = pd.Timestamp("2026-03-01", tz="Europe/Berlin")
    dated = RUNS.assign(t=start + pd.to_timedelta(RUNS["t"], unit="D").dt.round("s"))
    forecaster = fit(dated)
    table = lupi.read_series(dated, series="run", time="t", observed=["x", "y"])
    evaluation = lupi.evaluate(forecaster, table, context="2:3")
    assert np.isfinite(evaluation.metrics["x"]["rmse"].mean)
    new = dated[dated["run"] == "r03"].iloc[:5].drop(columns="k")
    forecast = forecaster.predict(new, ["2026-03-04 12:00"])
    frame = forecast.to_dataframe()
    assert frame["t"][0] == pd.Timestamp("2026-03-04 12:00", tz="Europe/Berlin")
    write_table(tmp_path / "forecast.nc", frame)
    assert forecast.to_xarray()["t"].values[0] == np.datetime64("2026-03-04T11:00")
    earlier = forecaster.predict(new, ["2026-03-01 06:00"], starts={"r03": "2026-03-01 00:00"})
    assert np.isfinite(earlier.mean).all()


def test_seeds_and_settings_are_checked_at_the_door():
    tasks = lupi.read_series(RUNS, **COLUMNS)
    with pytest.raises(UserError, match="the seed must be a whole number from 0"):
        lupi.Forecaster(SMALL).fit(tasks, seed=-1)
    with pytest.raises(UserError, match="expected the series that `read_series` gives, got str"):
        lupi.Forecaster(SMALL).fit("runs.csv")
    with pytest.raises(UserError, match=r"setting train.max_gradient: .*finite.*, got inf"):
        lupi.forecaster_settings(train={"max_gradient": np.inf})
    with pytest.raises(UserError, match=r"setting process.width: Extra inputs are not permitted"):
        lupi.Forecaster(process={"width": 9})
    with pytest.raises(UserError, match=r"got whole settings and changes to a preset \(train\)"):
        lupi.Forecaster(SMALL, train={"epochs": 2})
    assert lupi.forecaster_settings(validation_share=0.9, members=1).num_left_out(2) == 1


# Many series at once


def make_new(num_runs: int) -> tuple[pd.DataFrame, dict[int, np.ndarray]]:
    """New runs of 1 to 30 observations, and 1 to 128 times for each."""
    rng = np.random.default_rng(1)
    runs, times = [], {}
    for i in range(num_runs):
        t = np.sort(rng.uniform(0, 5, rng.integers(1, 31)))
        runs.append(pd.DataFrame({"run": i, "t": t, "x": 10 + np.sin(t + i), "y": 90 * np.cos(t)}))
        times[i] = rng.uniform(0, 4.9, rng.integers(1, 129))
    return pd.concat(runs, ignore_index=True), times


def test_forty_runs_at_once_are_forecast_as_each_alone_bit_for_bit(trained, optimised):
    new, times = make_new(40)
    together = trained.predict(new, times)
    for label, of_label in times.items():
        alone = trained.predict(new[new["run"] == label], of_label)
        np.testing.assert_array_equal(together[label].mixture.means, alone.mixture.means)
        np.testing.assert_array_equal(together[label].mixture.scales, alone.mixture.scales)
        np.testing.assert_array_equal(together[label].samples, alone.samples)


def test_another_number_of_series_compiles_nothing(trained, compilations):
    rows = RUNS.drop(columns="k")
    several = pd.concat([rows.assign(run=rows["run"] + suffix) for suffix in ("a", "b")])
    labels = several["run"].unique()

    def predict(number: int) -> None:
        forecast = trained.predict(several[several["run"].isin(labels[:number])], TIMES)
        assert np.isfinite(forecast.samples).all()
        assert np.isfinite(forecast.interval()).all()

    predict(3)
    compilations.clear()
    for number in (4, 7, 16, 17, 20, 3):
        predict(number)
    assert compilations == []


def test_other_numbers_of_observations_times_and_samples_compile_nothing(trained, compilations):
    run = RUNS[RUNS["run"] == "r03"].drop(columns="k")
    trained.predict(run, TIMES).samples  # noqa: B018
    compilations.clear()
    for points, times, samples in ((1, 1, 2), (5, 100, 64), (len(run), 128, 33)):
        forecast = trained.predict(run.iloc[:points], np.linspace(0, 4, times), num_samples=samples)
        assert forecast.samples.shape == (samples, times, 2)
    assert compilations == []


def test_intervals_at_another_number_of_times_compile_nothing(trained, compilations):
    trained.predict(NEW, TIMES).interval()
    compilations.clear()
    for times in (1, 100, 128):
        assert np.isfinite(trained.predict(NEW, np.linspace(0, 4, times)).interval()).all()
    assert compilations == []


# Long series


def test_one_long_series_among_short_ones_is_trained_on_in_small_batches(monkeypatch):
    rng = np.random.default_rng(0)
    t = np.linspace(0, 5, 5_000)
    long = pd.DataFrame({"run": "long", "t": t, "x": np.sin(t), "y": np.cos(t), "k": 0.5})
    runs = pd.concat([make_runs(20), long], ignore_index=True)
    lengths = []
    take = loop.RaggedTasks.take

    def watched(self, chosen, *, length: int, rng):
        lengths.append(length)
        return take(self, chosen, length=length, rng=rng)

    monkeypatch.setattr(loop.RaggedTasks, "take", watched)
    forecaster = fit(runs)
    assert len(lengths) > SMALL.train.epochs
    assert max(lengths) == max(128, 2 * SMALL.train.target_sizes[1])
    assert np.isfinite(forecaster.predict(NEW, TIMES).mean).all()
    seen = long.iloc[np.sort(rng.choice(5_000, 700, replace=False))].drop(columns="k")
    assert np.isfinite(forecaster.predict(seen, TIMES).mean).all()


# Without observations


def test_without_observations_it_forecasts_what_it_believes_of_any_run(trained):
    forecast = trained.predict(None, TIMES)
    assert forecast.mean.shape == (5, 2)
    assert np.isfinite(forecast.samples).all()
    assert (forecast.std > 0).all()
    assert "run" not in forecast.to_dataframe()
    assert len(forecast) == 1
    assert len(forecast.observations) == 0
    assert len(forecast.plot().axes) == 2


def test_without_observations_it_is_what_the_process_predicts_from_none(trained):
    forecast = trained.predict(None, TIMES, num_samples=16, seed=3)
    start, scale = trained.normalisation.time_start, trained.normalisation.time_scale
    prior = lupi.predict(
        trained.processes[0],
        lupi.Observations.none(2),
        ((np.array(TIMES) - start) / scale).astype(np.float32),
        num_samples=16,
        key=jax.random.key(3),
    )
    to_original = trained.normalisation.to_original_values
    np.testing.assert_allclose(forecast.mean, to_original(prior.mean), rtol=1e-6)
    np.testing.assert_allclose(forecast.samples, to_original(prior.samples), rtol=1e-5)


def test_without_observations_and_times_it_forecasts_the_span_of_the_training(trained):
    forecast = trained.predict()
    assert len(forecast.times) == 100
    start, scale = trained.normalisation.time_start, trained.normalisation.time_scale
    assert forecast.times[[0, -1]] == pytest.approx([start, start + scale])


@pytest.fixture(scope="module")
def dated() -> lupi.Forecaster:
    start = pd.Timestamp("2026-01-01")
    return fit(RUNS.assign(t=start + pd.to_timedelta(RUNS["t"], unit="D")))


def test_without_observations_dates_count_from_the_first_that_is_asked_for(dated):
    days = pd.to_datetime(["2030-05-03 00:00", "2030-05-01 00:00", "2030-05-02 12:00"])
    forecast = dated.predict(None, days)
    assert forecast.times.tolist() == days.to_numpy().astype("datetime64[us]").tolist()
    later = dated.predict(None, days + pd.Timedelta("900D"))
    np.testing.assert_array_equal(forecast.samples, later.samples)
    seconds = np.array([2.0, 0.0, 1.5]) * 86_400 / dated.normalisation.time_scale
    prior = lupi.predict(
        dated.processes[0],
        lupi.Observations.none(2),
        seconds.astype(np.float32),
        num_samples=64,
        key=jax.random.key(0),
    )
    expected = dated.normalisation.to_original_values(prior.mean)
    np.testing.assert_allclose(forecast.mean, expected, rtol=1e-5)


def test_without_observations_dates_may_begin_where_starts_says(dated):
    days = pd.to_datetime(["2030-05-02", "2030-05-03"])
    forecast = dated.predict(None, days, starts={0: "2030-05-01"})
    whole = dated.predict(None, days.insert(0, pd.Timestamp("2030-05-01")))
    np.testing.assert_array_equal(forecast.mean, whole.mean[1:])


def test_without_observations_dates_must_be_given(dated):
    with pytest.raises(UserError, match=r"count from the first observation.* there is none"):
        dated.predict()


# Messages


@pytest.mark.parametrize("kind", [np.int64, str], ids=["integers", "text"])
def test_a_message_names_a_series_as_the_user_does(kind):
    numbered = RUNS.assign(run=RUNS["run"].str[1:].astype(int).astype(kind))
    forecaster = fit(numbered)
    new = numbered[numbered["run"] == kind(3)].iloc[:5].drop(columns="k")
    name = "3" if kind is np.int64 else "'3'"
    for wrong in (new.assign(t=new["t"] + 90), new.assign(x=new["x"] * 1e6)):
        with pytest.raises(UserError, match=rf"^series {name} has ") as refused:
            forecaster.predict(wrong, TIMES)
        assert "np." not in str(refused.value)
    with pytest.raises(UserError, match=rf"has none for series {name}: ") as refused:
        forecaster.predict(new, {kind(9): TIMES})
    with pytest.raises(UserError, match=rf"but {name}\.") as refused:
        forecaster.predict(new, TIMES)[kind(9)]
    assert "np." not in str(refused.value)


# Files of the version before


def load_old(name: str) -> lupi.Forecaster:
    with pytest.warns(UserNotice, match="without a checksum"):
        return lupi.load(OLD_FILES / name)


def test_a_file_of_the_version_before_forecasts_the_same_numbers(optimised):
    forecast = load_old("forecaster.lupi").predict(NEW, TIMES)
    with np.load(OLD_FILES / "forecast.npz") as before:
        for name in ("mean", "std", "samples"):
            np.testing.assert_allclose(getattr(forecast, name), before[name], rtol=1e-4)


def test_a_file_of_the_version_before_that_knows_gaps_still_does():
    forecaster = load_old("forecaster-gaps.lupi")
    gappy = NEW.assign(y=[1.0, np.nan, 2.0, np.nan, 4.0])
    assert np.isfinite(forecaster.predict(gappy, TIMES).samples).all()
    without = load_old("forecaster.lupi")
    with pytest.raises(UserError, match="trained on series without gaps"):
        without.predict(gappy, TIMES)


def test_a_file_of_the_version_before_is_saved_as_one_of_this(tmp_path):
    old = load_old("forecaster.lupi")
    old.save(tmp_path / "model.lupi")
    again = lupi.load(tmp_path / "model.lupi")
    np.testing.assert_array_equal(
        again.predict(NEW, TIMES).samples, old.predict(NEW, TIMES).samples
    )
    assert again.settings == old.settings
    assert again.settings.process.training_solver_steps == 32


# Other models


def test_another_model_is_trained_and_saved_the_same_way(tmp_path):
    settings = lupi.forecaster_settings(
        model="cnp",
        process={"hidden_size": 8},
        train=SMALL.train.model_dump(),
        members=1,
        blend=False,
    )
    with pytest.warns(lupi.UserNotice, match="cnp makes no use of privileged values, .*from 'k'"):
        forecaster = fit(RUNS, settings=settings)
    assert isinstance(forecaster.processes[0], lupi.ConditionalProcess)
    forecaster.save(tmp_path / "model.lupi")
    np.testing.assert_array_equal(
        lupi.load(tmp_path / "model.lupi").predict(NEW, TIMES).samples,
        forecaster.predict(NEW, TIMES).samples,
    )
    assert np.isfinite(forecaster.predict(None, TIMES).samples).all()


def test_an_unknown_model_is_refused_with_a_hint():
    with pytest.raises(UserError, match=r"unknown model 'lupy': .*Did you mean 'lupi'\?"):
        lupi.Forecaster(model="lupy")
