"""Several networks, blended and calibrated by what they say of series left out."""

import json

import numpy as np
import pandas as pd
import pytest

import lupi
from blended_runs import COLUMNS, RUNS, SETTINGS, fit
from lupi._machinery.array_files import read_arrays, write_arrays
from lupi.cli import main
from lupi.distributions import NormalMixture
from lupi.errors import UserError, UserNotice
from lupi.forecasting.learning import in_numbers, learn
from lupi.plain import PLAIN

NEW = RUNS[RUNS["run"] == "r3"].iloc[:3].drop(columns="k")


@pytest.fixture
def trained(blended) -> lupi.Forecaster:
    return blended


def test_every_part_is_judged_on_what_it_has_not_seen(trained):
    judged = trained.provenance["out_of_fold"]
    assert set(judged) == {"lupi", *PLAIN, "blend"}
    assert set(judged["lupi"]["rmse"]) == {"x", "y"}
    assert set(trained.parts) == {"lupi", *PLAIN}
    assert trained.parts == trained.provenance["weights"]
    assert sum(trained.parts.values()) == pytest.approx(1)
    # Each series counts, and the blend is wide enough for them.
    assert 0.8 < judged["blend"]["coverage_90"] < 1
    assert judged["blend"]["log_likelihood"] >= judged["lupi"]["log_likelihood"]


def test_a_guess_that_is_not_finite_has_no_part_and_is_named():
    good = NormalMixture(np.zeros((2, 4, 3, 1)), np.ones((2, 4, 3, 1)))
    bad = NormalMixture(good.means, np.where(np.arange(4)[:, None, None] == 1, np.nan, good.scales))
    with pytest.warns(UserNotice, match="'last value': forecasts .* are not finite"):
        left = in_numbers({"lupi": good, "last value": bad, "nearest series": good})
    assert list(left) == ["lupi", "nearest series"]


def test_a_series_does_not_change_the_member_that_left_it_out(trained):
    changed = RUNS.copy()
    changed.loc[changed["run"] == "r7", ["x", "y", "k"]] *= [3.0, -2.0, 5.0]
    before, after = trained._get().members, fit(changed)._get().members
    weights = [
        [np.concatenate([np.ravel(a) for a in _arrays(one.process)]) for one in members]
        for members in (before, after)
    ]
    same = [np.array_equal(a, b) for a, b in zip(*weights, strict=True)]
    units = [a.normalisation == b.normalisation for a, b in zip(before, after, strict=True)]
    # Four of ten series are left out by each of three members.
    assert same == units
    assert 1 <= sum(same) <= 2


def _arrays(process):
    import equinox as eqx
    import jax

    return jax.tree.leaves(eqx.filter(process, eqx.is_array))


def test_the_file_holds_all_of_it(trained, tmp_path):
    trained.save(tmp_path / "model.lupi")
    again = lupi.load(tmp_path / "model.lupi")
    first, second = trained.predict(NEW, [1.0, 4.0]), again.predict(NEW, [1.0, 4.0])
    np.testing.assert_array_equal(first.mixture.means, second.mixture.means)
    np.testing.assert_array_equal(first.mixture.scales, second.mixture.scales)
    assert again.provenance == trained.provenance
    assert len(again.processes) == 3


def test_a_file_without_a_part_of_its_blend_or_with_another_is_refused(trained, tmp_path):
    path = tmp_path / "model.lupi"
    trained.save(path)
    header, arrays = read_arrays(path, kind="forecaster")
    for missing, message in (
        ("part.nearest series.", "there is no"),
        ("calibration.last value.", "there is no"),
        ("whole.", "a part of its blend is missing"),
        ("member.1.", "expected"),
    ):
        fewer = {name: a for name, a in arrays.items() if not name.startswith(missing)}
        write_arrays(path, fewer, header, kind="forecaster")
        with pytest.raises(UserError, match=message):
            lupi.load(path)
    for name, change, message in (
        ("part.nearest series.trajectories", lambda a: a[..., :1], "expected observation 2"),
        ("part.Gaussian process.logs", lambda a: a[:, :3], "expected 4 4 at logs, found 3"),
        ("whole.widths", lambda a: -a, "widths holds numbers that are not positive"),
    ):
        write_arrays(path, arrays | {name: change(arrays[name])}, header, kind="forecaster")
        with pytest.raises(UserError, match=message):
            lupi.load(path)
    write_arrays(path, arrays, header | {"parts": {"magic": 1.0}}, kind="forecaster")
    with pytest.raises(UserError, match="unknown parts"):
        lupi.load(path)


@pytest.mark.slow  # other numbers of members and series are compiled anew
def test_two_series_are_enough():
    few = RUNS[RUNS["run"].isin(["r1", "r2"])]  # of which each member sees one
    forecaster = fit(few)
    assert len(forecaster.processes) == 2
    forecast = forecaster.predict(NEW, [2.0])
    assert np.isfinite(forecast.mean).all()
    assert (forecast.std > 0).all()


def test_the_command_line_shows_what_a_plain_guess_would_do(trained, tmp_path, capsys):
    runs, model = str(tmp_path / "runs.csv"), str(tmp_path / "m.lupi")
    RUNS.to_csv(runs, index=False)
    trained.save(model)
    main(["show", model])
    printed = capsys.readouterr().out
    assert "On runs that were left out of training" in printed
    assert "nearest series" in printed
    evaluate = ["evaluate", model, runs, "--context", "first:0.33", "--out", str(tmp_path / "e")]
    main([*evaluate, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert set(found["parts"]) == {"lupi", *PLAIN}
    assert "Beside plain guesses" in (tmp_path / "e" / "report.html").read_text()


def test_beyond_the_training_data_it_knows_ever_less(trained):
    spans = np.array([1.0, 1.5, 2.0, 4.0, 8.0])
    std = trained.predict(NEW, 5.0 * spans).std / RUNS[["x", "y"]].std().to_numpy()
    assert (np.diff(std, axis=0) > 0).all()
    assert (std[1:] > 0.8 * (spans[1:, None] - 1)).all()


def test_each_part_can_be_asked_alone(trained):
    times = np.sort(RUNS["t"].unique())[::7]
    mean = trained.predict(NEW, times, by="mean at that time")
    again = trained.predict(None, times, by="mean at that time")
    np.testing.assert_array_equal(mean.mean, again.mean)  # whatever was observed
    last = trained.predict(NEW, [50.0], by="last value")
    np.testing.assert_allclose(last.mean[0], NEW[["x", "y"]].iloc[-1], rtol=1e-4)
    networks, blend = trained.predict(NEW, times, by="lupi"), trained.predict(NEW, times)
    assert not np.allclose(networks.std, blend.std)
    with pytest.raises(UserError, match="part of the forecaster"):
        trained.predict(NEW, times, by="magic")


@pytest.mark.parametrize("context", ["first:0.33", "last:0.5", "gap:0.4", "random:0.3", "2:4"])
def test_every_kind_of_context_is_judged(trained, context):
    found = lupi.evaluate(trained, lupi.read_series(RUNS, **COLUMNS), context=context)
    held_back = len(found.truth)
    assert 0 < held_back < len(RUNS)


@pytest.mark.parametrize("context", ["first", "first:2", "half:0.5", "9:5", "0:3", "a:b", ""])
def test_a_context_that_is_none_is_refused(trained, context):
    with pytest.raises(UserError, match="context must be"):
        lupi.evaluate(trained, lupi.read_series(RUNS, **COLUMNS), context=context)


@pytest.mark.slow  # a longer training is compiled anew
def test_training_stops_when_nothing_gets_better(monkeypatch):
    rows = []
    monkeypatch.setattr("lupi.forecasting.networks.PATIENCE", 1)
    settings = SETTINGS.model_copy(
        update={"train": SETTINGS.train.model_copy(update={"epochs": 60, "learning_rate": 1.0})}
    )
    table = lupi.read_series(RUNS, **COLUMNS)
    found = learn(table, settings, seed=0, checkpoint=None, on_epoch=rows.append, progress=False)
    assert len(rows) < 60
    assert found.fitted.provenance["best_epoch"] < len(rows)


def test_two_runs_and_one_of_a_single_row_give_wide_and_finite_intervals():
    few = pd.concat([RUNS[RUNS["run"].isin(["r0", "r1"])], RUNS[RUNS["run"] == "r2"].iloc[2:3]])
    forecast = fit(few).predict(NEW, [1.0, 4.0])
    scatter = RUNS[["x", "y"]].std().to_numpy()
    assert (forecast.std > 0.2 * scatter).all()
    assert (forecast.std < 50 * scatter).all()
