"""Quantiles as columns, and forecasts of many series."""

import time

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
from lupi.forecasting.forecast import Forecast

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
