"""Known columns, categories and positive quantities: Python, command line, file and back."""

import json

import numpy as np
import pandas as pd
import pytest

import lupi
from lupi.cli import main
from lupi.errors import UserError
from lupi.forecasting.known import unlike_training

COLUMNS = {"series": "run", "time": "t", "observed": ["y"], "privileged": ["rate"]}
KNOWN = {"known": ["dose", "sex"], "positive": ["y"]}
SMALL = {
    "members": 2,
    "inference": "amortised",
    "process": {"hidden_size": 8, "representation_size": 8},
    "train": {"epochs": 60, "batch_size": 4, "learning_rate": 0.02},
}


def make_runs(number: int = 16) -> pd.DataFrame:
    """A dose that decays; women and men at other rates."""
    rng = np.random.default_rng(0)
    runs = []
    for i in range(number):
        dose, sex, rate = rng.uniform(1, 9), "fm"[i % 2], rng.uniform(0.5, 1.0)
        t = np.sort(rng.uniform(0, 3, 7))
        y = dose * np.exp(-rate * (1 + i % 2) * t + 0.02 * rng.standard_normal(7))
        runs.append(
            pd.DataFrame({"run": f"r{i}", "t": t, "y": y, "rate": rate, "dose": dose, "sex": sex})
        )
    return pd.concat(runs, ignore_index=True)


RUNS = make_runs()
NEW = RUNS[RUNS["run"] == "r3"].iloc[:2].drop(columns="rate")


@pytest.fixture(scope="module")
def trained() -> lupi.Forecaster:
    table = lupi.read_series(RUNS, **COLUMNS, **KNOWN)
    return lupi.Forecaster(**SMALL).fit(table, seed=0, progress=False)


def test_what_is_known_is_read_from_the_observations_or_given(trained):
    read = trained.predict(NEW, [0.5, 2.0])
    dose, sex = NEW["dose"].iloc[0], NEW["sex"].iloc[0]
    bare = NEW.drop(columns=["dose", "sex"])
    for given in ({"dose": dose, "sex": sex}, {"r3": {"dose": dose, "sex": sex}}):
        again = trained.predict(bare, [0.5, 2.0], known=given)
        np.testing.assert_array_equal(read.mixture.means, again.mixture.means)


def test_before_anything_is_seen_the_forecast_follows_the_dose(trained):
    low, high = (
        trained.predict(None, [0.0], known={"dose": dose, "sex": "f"}, by="lupi").mean.item()
        for dose in (1.5, 8.5)
    )
    assert high > 2 * low


def test_forecasts_of_a_positive_quantity_are_positive(trained):
    forecast = trained.predict(NEW, [0.5, 2.0, 3.0, 9.0])
    assert (forecast.samples > 0).all()
    assert (forecast.interval(coverage=0.99)[0] > 0).all()
    lower, upper = forecast.interval()
    assert ((lower < forecast.mean) & (forecast.mean < upper))[:3].all()
    below = forecast.probability_below(forecast.quantile(0.3))
    np.testing.assert_allclose(below, 0.3, atol=1e-3)


def test_density_integrates_to_one(trained):
    forecast = trained.predict(NEW, [1.0])
    values = np.geomspace(1e-4, 1e3, 400)
    densities = [np.exp(forecast.log_density(np.full((1, 1), v))).item() for v in values]
    assert np.trapezoid(densities, values) == pytest.approx(1, abs=0.02)


def test_the_file_holds_what_is_known(trained, tmp_path):
    trained.save(tmp_path / "model.lupi")
    again = lupi.load(tmp_path / "model.lupi")
    assert again.columns == trained.columns
    assert again.normalisation == trained.normalisation
    np.testing.assert_array_equal(
        again.predict(NEW, [0.5]).mixture.means, trained.predict(NEW, [0.5]).mixture.means
    )


def test_of_a_file_that_does_not_have_the_range_nothing_is_told(trained):
    units = trained.normalisation.model_copy(update={"known_least": (), "known_most": ()})
    table = lupi.read_series(RUNS.assign(dose=1e4), **COLUMNS, **KNOWN)
    assert unlike_training(table, units, farthest=20.0) == ({}, {})
    assert len(unlike_training(table, trained.normalisation, farthest=20.0)[1]) == 16


def test_evaluation_is_in_original_units(trained):
    table = lupi.read_series(RUNS, **COLUMNS, **KNOWN)
    found = lupi.evaluate(trained, table, context="first:0.5")
    errors = np.abs(found.forecast.mean - found.truth)
    assert found.metrics["y"]["rmse"].mean >= 0.5 * errors.mean()
    assert found.metrics["y"]["rmse"].mean <= errors.max()
    assert trained.provenance["out_of_fold"]["blend"]["rmse"]["y"] < RUNS["y"].std()


@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_a_run_with_a_value_held_back_that_cannot_be_is_in_no_score(trained, value):
    last = RUNS.index[RUNS["run"] == "r3"][-1]
    runs = RUNS.assign(y=RUNS["y"].mask(RUNS.index == last, value))
    table = lupi.read_series(runs, **COLUMNS, known=["dose", "sex"], training=False)
    found = lupi.evaluate(trained, table, context="first:0.5")
    assert list(found.refused) == ["r3"]
    assert f"has y = {value:g}" in found.refused["r3"]
    assert np.isfinite(found.metrics["y"]["log_likelihood"].mean)


@pytest.mark.parametrize(
    ("observations", "given", "message"),
    [
        (NEW.drop(columns="dose"), None, "has no 'dose'"),
        (NEW.assign(sex="x"), None, "one of the categories"),
        (
            NEW.drop(columns="sex"),
            {"sex": "x"},
            "is given sex = 'x', which is none of the categories",
        ),
        (NEW.drop(columns="dose"), {"dose": "much"}, "expected a finite number"),
        (NEW, {"mass": 3}, "expected some of the columns"),
        (NEW, {"r9": {"dose": 3}}, "r9"),
        (NEW, [3], "expected a dictionary"),
        (NEW.assign(dose=[3.0, 4.0]), None, "changes within the run"),
        (NEW.assign(y=[-1.0, 2.0]), None, "at least 0"),
        (NEW.assign(y=[0.0, 2.0]), None, "where training had no value and which has no logarithm"),
    ],
)
def test_what_was_not_known_or_cannot_be_is_refused(trained, observations, given, message):
    with pytest.raises(UserError, match=message):
        trained.predict(observations, [0.5], known=given)


def test_of_several_runs_only_those_that_are_not_known_enough_of_are_refused(trained, tmp_path):
    other, unknown = NEW.assign(run="other", sex="x"), NEW.assign(run="unknown", dose=np.nan)
    several = pd.concat([NEW, other, unknown], ignore_index=True)
    found = trained.predict(several, [0.5])
    assert found.series == ["r3"]
    np.testing.assert_array_equal(found.mean, trained.predict(NEW, [0.5]).mean)
    assert "has 'x' in the known column 'sex', which is none of" in found.refused["other"]
    assert "has no value in the known column 'dose'" in found.refused["unknown"]
    trained.save(tmp_path / "model.lupi")
    several.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "forecast.csv"
    with pytest.raises(SystemExit) as ended:
        main(
            ["predict", str(tmp_path / "model.lupi"), str(tmp_path / "new.csv"), "--out", str(out)]
        )
    assert ended.value.code == 2
    assert pd.read_csv(out)["refused"].notna().sum() == 2


def test_a_known_value_outside_of_training_is_told(trained, tmp_path, capsys):
    doses = RUNS["dose"]
    least, most = doses.min(), doses.max()
    for dose in (least, most, most + 0.05 * (most - least)):
        assert trained.predict(NEW.assign(dose=dose), [0.5]).unlike == {}
    found = trained.predict(NEW.assign(dose=2 * most), [0.5])
    told = f"series 'r3' has the known value dose = {2 * most:g}, where training knew {least:g} to "
    assert found.warnings[0].startswith(told)
    assert found["r3"].warnings == found.warnings
    several = pd.concat([NEW, NEW.assign(run="other", dose=2 * most)], ignore_index=True)
    assert list(trained.predict(several, [0.5]).unlike) == ["other"]
    trained.save(tmp_path / "model.lupi")
    several.to_csv(tmp_path / "new.csv", index=False)
    model, new, out = (str(tmp_path / name) for name in ("model.lupi", "new.csv", "forecast.csv"))
    main(["predict", model, new, "--out", out])
    assert "'other' has the known value dose" in " ".join(capsys.readouterr().out.split())


def test_a_known_value_in_another_unit_is_refused(trained):
    several = pd.concat([NEW, NEW.assign(run="other", dose=3000.0)], ignore_index=True)
    found = trained.predict(several, [0.5])
    assert found.series == ["r3"]
    assert "check the column and its unit" in found.refused["other"]
    assert found.warnings == trained.predict(NEW, [0.5]).warnings


TWO = pd.concat([NEW, NEW.assign(run="other")], ignore_index=True)


@pytest.mark.parametrize("name", ["times", "known", "privileged"])
def test_what_is_asked_of_a_run_that_is_refused_is_no_mistake(trained, name):
    given = {"times": [0.5], "known": {"dose": 3}, "privileged": {"rate": 0.7}}[name]
    several = TWO.assign(sex=TWO["sex"].mask(TWO["run"] == "other", "x"))
    asked = {"times": [0.5]} | {name: {"r3": given, "other": given}}
    found = trained.predict(several, **asked)
    assert found.series == ["r3"]
    assert list(found.refused) == ["other"]


@pytest.mark.parametrize(
    ("columns", "given", "reason"),
    [
        (["sex"], {"known": {"r3": {"sex": "m"}}}, "has no 'sex'"),
        (["sex"], {"known": {"r3": {"sex": "m"}, "other": {"sex": "x"}}}, "none of the categories"),
        ([], {"known": {"other": {"dose": np.nan}}}, "expected a finite number"),
        ([], {"privileged": {"other": {"rate": 1e9}}}, "more than 20 standard deviations"),
    ],
)
def test_of_several_runs_only_that_with_a_wrong_value_given_is_refused(
    trained, columns, given, reason
):
    found = trained.predict(TWO.drop(columns=columns), [0.5], **given)
    assert found.series == ["r3"]
    assert reason in found.refused["other"]


def test_a_run_of_an_unknown_kind_is_counted_and_in_the_exit_code(trained, tmp_path, capsys):
    model, runs = str(tmp_path / "model.lupi"), str(tmp_path / "runs.csv")
    trained.save(model)
    RUNS.assign(sex=RUNS["sex"].mask(RUNS["run"] == "r3", "x")).to_csv(runs, index=False)
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", model, runs, "--out", str(tmp_path / "judged"), "--context", "first:0.5"])
    assert ended.value.code == 2
    assert "1 of 16 series are in no score:\n- series 'r3' has 'x'" in capsys.readouterr().out


def test_a_table_with_some_of_the_kinds_is_understood_as_in_training(trained):
    men = lupi.read_series(NEW, **COLUMNS | {"privileged": []}, **KNOWN)
    assert men.columns.categories == {"sex": ("m",)}
    np.testing.assert_array_equal(
        trained.predict(men, [0.5, 2.0]).mixture.means,
        trained.predict(NEW, [0.5, 2.0]).mixture.means,
    )


@pytest.mark.parametrize(
    ("rows", "how", "message"),
    [
        (NEW.assign(sex="x"), KNOWN, "has the category 'x'"),
        (NEW, KNOWN | {"categories": ["dose"]}, "another kind of column"),
        (NEW, KNOWN | {"events": ["dose"]}, "another kind of column"),
    ],
)
def test_a_table_read_in_another_way_is_refused(trained, rows, how, message):
    table = lupi.read_series(rows, **COLUMNS | {"privileged": []}, **how, training=False)
    with pytest.raises(UserError, match=message):
        trained.predict(table, [0.5])


def test_of_a_table_only_runs_of_an_unknown_kind_are_refused(trained):
    rows = TWO.assign(sex=TWO["sex"].mask(TWO["run"] == "other", "x"))
    table = lupi.read_series(rows, **COLUMNS | {"privileged": []}, **KNOWN, training=False)
    found = trained.predict(table, [0.5])
    assert found.series == ["r3"]
    assert "has the category 'x'" in found.refused["other"]


def test_the_command_line_takes_known_columns(tmp_path, capsys):
    runs, model = str(tmp_path / "runs.csv"), str(tmp_path / "model.lupi")
    RUNS.to_csv(runs, index=False)
    columns = ["--series", "run", "--time", "t", "--observed", "y", "--privileged", "rate"]
    columns += ["--known", "dose,sex", "--limits.y", "0:"]
    main(["check", runs, *columns, "--json"])
    assert json.loads(capsys.readouterr().out)["known"]["sex"]["categories"] == ["f", "m"]
    small = ["--train.epochs", "2", "--process.hidden-size", "8", "--inference", "amortised"]
    main(["train", runs, *columns, *small, "--members", "1", "--no-blend", "--out", model])
    out = str(tmp_path / "prior.csv")
    main(["predict", model, "--out", out, "--known.dose", "3", "--known.sex", "f"])
    assert (pd.read_csv(out)["y_lower"] >= 0).all()
    NEW.to_csv(tmp_path / "new.csv", index=False)
    again = ["--out", out, "--overwrite"]
    main(["predict", model, str(tmp_path / "new.csv"), *again, "--privileged.rate", "0.7"])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["predict", model, *again])
    assert "has no 'dose'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", runs, *columns[:-1], "0:x"])
    assert "two numbers with a colon" in capsys.readouterr().err


def test_a_course_with_future_values_is_trained_on_and_forecast():
    rng = np.random.default_rng(1)
    runs = []
    for i in range(8):
        t = np.linspace(0, 1, 9)
        heat = np.where(t < rng.uniform(0.2, 0.8), 0.0, 1.0)
        runs.append(pd.DataFrame({"run": i, "t": t, "x": np.cumsum(heat), "heat": heat}))
    table = lupi.read_series(pd.concat(runs), series="run", time="t", observed="x", known="heat")
    small = SMALL | {"members": 1, "blend": False, "train": {"epochs": 2, "batch_size": 4}}
    forecaster = lupi.Forecaster(**small).fit(table, seed=0, progress=False)
    seen = {"t": [0.0, 0.1], "x": [0.0, 0.0], "heat": [0.0, 0.0]}
    cold = forecaster.predict(seen, [0.9]).mean
    going_on = {"t": [0.0, 0.1, 0.5], "x": [0.0, 0.0, None], "heat": [0.0, 0.0, 1.0]}
    assert forecaster.predict(going_on, [0.9]).mean != cold


def test_doses_and_a_privileged_kind_go_through_command_line_file_and_back(tmp_path, capsys):
    """Doses at times of their own, in rows without an observed value; the kind of past runs only;
    and a concentration that cannot be negative."""
    rng, rows = np.random.default_rng(2), []
    for i in range(8):
        t, rate, second = np.linspace(0.5, 4, 8), (0.5, 1.0)[i % 2], rng.uniform(1, 3)
        y = np.exp(-rate * t) + np.where(t > second, np.exp(-rate * (t - second)), 0)
        rows += [{"run": i, "t": one, "dose": 1.0} for one in (0.0, second)]
        rows += [{"run": i, "t": one, "y": other} for one, other in zip(t, y, strict=True)]
        rows[-1]["kind"] = ("slow", "fast")[i % 2]
    runs, model, out = (str(tmp_path / name) for name in ("runs.csv", "m.lupi", "forecast.csv"))
    pd.DataFrame(rows).to_csv(runs, index=False)
    columns = ["--series", "run", "--time", "t", "--observed", "y", "--positive", "y"]
    columns += ["--events", "dose", "--privileged", "kind"]
    small = ["--train.epochs", "2", "--process.hidden-size", "8", "--inference", "amortised"]
    main(["train", runs, *columns, *small, "--members", "1", "--no-blend", "--out", model])
    trained = lupi.load(model)
    assert trained.columns.events == ("dose",)
    assert trained.columns.privileged == ("kind=fast", "kind=slow")
    seen = pd.DataFrame({"t": [0.0, 0.5, 1.0], "y": [None, 0.7, 0.5], "dose": [1.0, None, None]})
    again = pd.DataFrame({"t": [2.0], "dose": [1.0]})
    for name, observations in (("one", seen), ("two", pd.concat([seen, again]))):
        new = str(tmp_path / f"{name}.csv")
        observations.to_csv(new, index=False)
        main(["predict", model, new, "--out", out, "--overwrite", "--times", "1.5,3.0"])
        found = pd.read_csv(out)
        assert (found["y_lower"] >= 0).all()
        expected = trained.predict(observations, [1.5, 3.0])
        np.testing.assert_allclose(found["y"], expected.mean[:, 0], rtol=1e-5)
    once, twice = trained.predict(seen, [1.5, 3.0]).mean, expected.mean
    np.testing.assert_allclose(twice[0], once[0], rtol=0.2)
    assert twice[1] != once[1]
    main(["evaluate", model, runs, "--out", str(tmp_path / "judged"), "--context", "first:0.5"])
    assert "y" in capsys.readouterr().out
    numbers = {"kind=fast": 1.0, "kind=slow": 0.0}
    by_numbers = trained.predict(seen, [1.5], privileged=numbers).mean.item()
    assert trained.predict(seen, [1.5], privileged={"kind": "fast"}).mean.item() == by_numbers
    with pytest.raises(UserError, match="is given kind = 'odd', which is none of the categories"):
        trained.predict(seen, [1.5], privileged={"kind": "odd"})
    asked = [model, str(tmp_path / "one.csv"), "--out", out, "--overwrite", "--times", "1.5"]
    main(["predict", *asked, "--privileged.kind", "fast"])
    np.testing.assert_allclose(pd.read_csv(out)["y"], by_numbers, rtol=1e-5)
