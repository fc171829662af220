"""Quantiles as columns, and forecasts of many series."""

import time
from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lupi.cli import main
from lupi.data.normalisation import Normalisation
from lupi.data.series_table import Columns
from lupi.distributions import NormalMixture
from lupi.errors import UserError
from lupi.forecasting.forecast import Forecast, information_gain

MEANS, SCALES = (10.0, -2.0), (3.0, 0.5)


def make_forecast(num_series: int, num_times: int, observed=("x", "y")) -> Forecast:
    """Of nobody: standard Normal numbers in the model's units, one component each."""
    columns = Columns(series="run", time="t", observed=observed)
    normalisation = Normalisation(
        time_start=0.0,
        time_scale=1.0,
        own_clock=False,
        observed_mean=MEANS,
        observed_scale=SCALES,
        privileged_mean=(),
        privileged_scale=(),
    )
    labels = np.array([f"r{i}" for i in range(num_series)], object)
    shape = (2, num_series * num_times, len(observed))
    seen = {"run": np.repeat(labels, 2), "t": np.tile([0.0, 0.1], num_series)}
    return Forecast(
        columns=columns,
        normalisation=normalisation,
        labels=np.repeat(labels, num_times),
        times=np.tile(np.linspace(0, 1, num_times), num_series),
        mixture=NormalMixture(np.zeros(shape), np.ones(shape)),
        positions=np.tile(np.arange(num_times), num_series),
        spans=np.tile(np.linspace(0, 1, num_times), num_series),
        key=jax.random.key(0),
        observations=pd.DataFrame(seen | {name: np.arange(2.0 * num_series) for name in observed}),
        seen_spans=seen["t"],
        surprise=np.linspace(0, 1, num_series),
    )


def test_quantiles_are_columns_with_the_values_of_the_distribution():
    frame = make_forecast(2, 3).to_dataframe(quantiles=[0.1, 0.5, 0.975])
    for name, mean, scale in zip("xy", MEANS, SCALES, strict=True):
        for level in (0.1, 0.5, 0.975):
            expected = stats.norm(mean, scale).ppf(level)
            np.testing.assert_allclose(frame[f"{name}_q{level}"], expected, rtol=1e-5)
    assert list(frame.columns)[-3:] == ["y_q0.1", "y_q0.5", "y_q0.975"]


@pytest.mark.parametrize(
    ("levels", "message"),
    [([0.0], "between 0 and 1, got 0"), ([90.0], "got 90"), ([0.1, 0.1], "q0.1 twice")],
)
def test_levels_that_are_none_are_refused(levels, message):
    with pytest.raises(UserError, match=message):
        make_forecast(1, 2).to_dataframe(quantiles=levels)


def test_a_quantile_with_the_name_of_a_column_is_refused():
    with pytest.raises(UserError, match=r"x_q0\.1 would be there twice"):
        make_forecast(1, 2, observed=("x", "x_q0.1")).to_dataframe(quantiles=[0.1])


@pytest.mark.parametrize("levels", ["0.1,1.5", "a", "0.1,,0.5", "nan"])
def test_the_command_refuses_levels_before_it_looks_for_a_model(levels, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["predict", "none.lupi", "none.csv", "--out", "f.csv", "--quantiles", levels])
    assert stop.value.code == 2
    assert "quantile levels must" in capsys.readouterr().err


def test_a_series_of_many_has_its_rows_its_observations_and_its_surprise():
    forecast = make_forecast(5, 3)
    one = forecast["r3"]
    assert one.labels.tolist() == ["r3"] * 3
    assert one.observations["x"].tolist() == [6.0, 7.0]
    assert one.surprise is not None
    assert one.surprise.tolist() == [0.75]
    with pytest.raises(UserError, match="there is no series 'r9'"):
        forecast["r9"]


def test_going_through_many_series_takes_as_long_for_each():
    """A scan of all rows for each of 4,000 series would be half a minute."""
    forecast = make_forecast(4_000, 10)
    begin = time.process_time()
    assert sum(len(forecast[label].times) for label in forecast.series) == 40_000
    assert len(forecast.best_next_time()) == 4_000
    assert time.process_time() - begin < 15


def test_near_an_observation_another_one_tells_less():
    """Of systems that differ as much at all times: the best next time is far from those seen."""
    forecast = make_forecast(2, 21)
    apart = np.linspace(-1, 1, 2)[:, None, None]
    alike = NormalMixture(forecast.mixture.means + apart, forecast.mixture.scales)
    found = replace(forecast, mixture=alike).best_next_time()
    assert (found["t"] >= 0.4).all()  # 0 and 0.1 were seen
    far = 0.5 * np.log(np.linalg.det(np.eye(2) + np.ones((2, 2))))
    np.testing.assert_allclose(found["gain"], far, rtol=1e-3)
    gains = information_gain(alike, forecast.spans, np.array([0.0, 0.1]))
    assert gains[0] < gains[4] < gains[8]


def test_without_observations_every_time_tells_what_it_tells():
    forecast = make_forecast(1, 3)
    means = np.array([1.0, 2.0, 3.0])[:, None] * np.array([-1.0, 1.0])[:, None, None]
    mixture = NormalMixture(means + 0 * forecast.mixture.means, forecast.mixture.scales)
    gains = information_gain(mixture, forecast.spans, np.zeros(0))
    expected = [0.5 * np.log(1 + 2 * size**2) for size in (1, 2, 3)]  # both columns say the same
    np.testing.assert_allclose(gains, expected, rtol=1e-6)
