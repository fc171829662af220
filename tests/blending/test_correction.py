"""Trajectories that are moved towards the points that were seen."""

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

import lupi
from lupi._machinery.array_files import read_arrays, write_arrays
from lupi.blending import Corrected, Correction, OutOfFold, fit_blending
from lupi.data import Observations
from lupi.data.held_out import leave_out_in_turns
from lupi.data.normalisation import Normalisation
from lupi.errors import UserError
from lupi.forecasting.fitted import NETWORKS, Fitted
from lupi.forecasting.fitted_file import load_fitted, save_fitted
from lupi.models import MeanTrajectory

RNG = np.random.default_rng(3)
TIMES = np.linspace(0, 1.5, 9).astype(np.float32)


def trajectory(size: int) -> MeanTrajectory:
    """A line, of each quantity another one."""
    grid = np.array([0.0, 1.0], np.float32)
    values = np.stack([np.arange(size), np.arange(size) + 2.0]).astype(np.float32)
    return MeanTrajectory(grid, values, np.full((2, size), 0.3, np.float32))


def ask(predictor, context: Observations):
    how = {"num_samples": 4, "horizon": 2, "key": jax.random.key(0)}
    return predictor.predict(context, TIMES, **how)


@pytest.mark.parametrize(("amplitude", "length"), [(1.0, 1.0), (0.3, 0.3)])
def test_what_is_lacking_is_a_gaussian_process(amplitude, length):
    ts = np.sort(RNG.uniform(0, 1, 7)).astype(np.float32)
    ys = RNG.normal(size=(7, 2)).astype(np.float32)
    mask, gaps = np.arange(7) < 6, np.zeros((7, 2), bool)
    gaps[2, 1] = True
    plain = trajectory(2)
    corrected = Corrected(predictor=plain, correction=Correction.of(amplitude, length))
    context = Observations(ts, ys, mask, gaps)
    before, after = ask(plain, context), ask(corrected, context)
    half = ConstantKernel(amplitude**2 / 2)
    kernel, noise = half + half * Matern(length, nu=1.5), 0.3**2 + 1e-4 * amplitude**2
    for column in range(2):
        known = mask & ~gaps[:, column]
        process = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
        line = column + 2.0 * ts[known]
        process.fit(ts[known, None], ys[known, column] - line)
        lacking, std = process.predict(TIMES[:, None], return_std=True)
        expected = np.asarray(before.means)[0, :, column] + lacking
        np.testing.assert_allclose(after.means[0, :, column], expected, atol=2e-4)
        np.testing.assert_allclose(after.scales[0, :, column], np.hypot(0.3, std), rtol=1e-3)


def test_of_nothing_seen_it_is_not_known_what_is_lacking():
    plain = trajectory(1)
    corrected = Corrected(predictor=plain, correction=Correction.of(1.0, 1.0))
    for context in (Observations.none(1), Observations(TIMES, TIMES[:, None], TIMES > 5)):
        found, before = ask(corrected, context), ask(plain, context)
        np.testing.assert_array_equal(found.means, before.means)
        np.testing.assert_allclose(found.scales, np.hypot(before.scales, 1.0), rtol=1e-6)


def blending_of(values: np.ndarray):
    """Of runs whose mean, at all times, is all that the "network" of each fold knows."""
    number, points = values.shape
    runs = pd.DataFrame(
        {
            "run": np.repeat(np.arange(number), points),
            "t": np.tile(np.linspace(0, 1, points), number),
            "x": values.ravel(),
        }
    )
    table = lupi.read_series(runs, series="run", time="t", observed="x")
    divided = leave_out_in_turns(table, 3, number // 3, rng=np.random.default_rng(0))
    folds = OutOfFold.of(divided, Normalisation.of(table), key=jax.random.key(0))
    networks = [MeanTrajectory.of(part.training.padded()) for part in divided]
    return fit_blending(folds, folds.answers(networks, at_points=True), {}, NETWORKS)


def test_it_is_chosen_where_runs_differ_in_their_level():
    rng = np.random.default_rng(0)
    found = blending_of(rng.normal(0, 2, (24, 1)) + rng.normal(0, 0.1, (24, 10)))
    assert found.correction is not None
    # The networks are told of as they are.
    assert found.judged["blend"].crps < 0.5 * found.judged[NETWORKS].crps


def test_it_is_not_chosen_where_points_say_nothing_of_others():
    rng = np.random.default_rng(1)
    assert blending_of(rng.normal(0, 1, (12, 10))).correction is None


@pytest.fixture
def with_correction(blended) -> Fitted:
    """As forecasters of larger tables may be."""
    made = blended._get()
    networks = made.parts[NETWORKS]._replace(correction=Correction.of(1.0, 1.0))
    parts = made.parts | {NETWORKS: networks}
    contents = (made.normalisation, made.columns, made.provenance, parts, made.whole)
    return Fitted(made.settings, made.members, *contents)


def test_a_file_holds_it(with_correction, tmp_path):
    save_fitted(tmp_path / "model.lupi", with_correction, with_correction.settings)
    again, _ = load_fitted(tmp_path / "model.lupi")
    seen = Observations(TIMES[:3], np.array([[3.0, 1.0], [2.5, 0.0], [2.0, -1.0]], np.float32))
    how = {"num_samples": 16, "key": jax.random.key(0)}
    found, same = (
        lupi.predict(one.predictor, seen, TIMES, **how) for one in (with_correction, again)
    )
    np.testing.assert_array_equal(found.means, same.means)
    assert not np.array_equal(found.means, lupi.predict(again.networks, seen, TIMES, **how).means)
    # Alone, the networks are what they are.
    assert again.alone(NETWORKS) is again.networks


def test_a_file_whose_correction_is_none_is_refused(with_correction, tmp_path):
    path = tmp_path / "model.lupi"
    save_fitted(path, with_correction, with_correction.settings)
    header, arrays = read_arrays(path, kind="forecaster")
    arrays["correction.lupi.amplitude"] = np.array(-1.0, np.float32)
    header = {name: part for name, part in header.items() if name not in ("format", "kind")}
    write_arrays(path, arrays, header, kind="forecaster")
    with pytest.raises(UserError, match="amplitude holds numbers that are not positive"):
        load_fitted(path)
