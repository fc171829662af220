"""What a comparison says, from records whose answer is known."""

import re

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

import lupi
from lupi.cli import app
from lupi.experiments import (
    EXPERIMENTS,
    Experiment,
    Record,
    Results,
    all_contestants,
    comparison_settings,
)
from lupi.experiments.results import Failure, Metric
from lupi.forecasting import ForecasterSettings, forecaster_settings
from lupi.report.answer import answers
from lupi.report.comparison import COLUMNS, compare_results, row, to_markdown, to_terminal
from lupi.report.standings import Ratio, helps, standings

NAMES = ("mse", "rmse", "crps", "log_likelihood", "coverage_50", "coverage_90", "calibration_error")


def records(model: str, values, mode: str = "test", **more) -> list[Record]:
    found = []
    for seed, value in enumerate(values):
        metrics = {name: Metric(mean=value, stderr=0.01) for name in NAMES} | {
            name: Metric(mean=number, stderr=None) for name, number in more.items()
        }
        found.append(
            Record(
                experiment="stiffness",
                model=model,
                seed=seed,
                mode=mode,
                metrics=metrics,
                seconds={"train": 2.0, "prepare": 1.0}
                if mode.startswith("test")
                else {"predict": 0.02},
            )
        )
    return found


def results(*groups: list[Record], failures=()) -> Results:
    together = [record for group in groups for record in group]
    chosen = all_contestants(record.model for record in together)
    return Results(
        settings=comparison_settings(chosen).model_dump(mode="json"),
        records=together,
        floors=[],
        claims=[],
        failures=list(failures),
    )


LUPI, NOPI = [0.10, 0.11, 0.12, 0.10], [0.20, 0.24, 0.22, 0.21]
FOUND = results(
    records("lupi", [0.3, 0.33, 0.3, 0.31], parameters=100.0, training_parameters=120.0),
    records("lupi", LUPI, "test refined", recovered_error=0.1, recovered_coverage_90=0.87),
    records("nopi", [0.31, 0.32, 0.31, 0.3]),
    records("nopi", NOPI, "test refined"),
    records("lupi:shuffled", [0.32, 0.32, 0.31, 0.3]),
    records("lupi:shuffled", NOPI, "test refined"),
    records("mean", [1.0, 1.1, 1.2, 1.0]),
    records("ideal", [0.05, 0.05, 0.06, 0.05]),
    records("lupi", LUPI, "points 5 refined"),
)


def test_the_order_is_that_of_the_errors_and_the_ideal_does_not_compete():
    order = standings(FOUND, "stiffness")
    assert [one.label for one in order][:3] == [
        "ideal observer",
        "LUPI + search",
        order[2].label,
    ]
    assert [one.competes for one in order][:2] == [False, True]
    assert order[1].behind.mean == 1.0
    assert order[0].behind.mean < 1


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 1.0, 300.0])
def test_in_80_columns_no_number_is_cut(scale):
    """Of an error a digit or two would be left, which say nothing."""
    others = {"lupi-concatenation": 0.99, "lupi:noise=0.5": 25.7, "last-value": 186.6}
    told = {"coverage_90": 1.0, "recovered_error": 9e-5}
    found = results(
        records("lupi", scale * np.array(LUPI), "test refined", **told),
        records("lupi", scale * np.array(LUPI) * 30, **told),
        records("ideal", scale * np.array(LUPI) / 1234, coverage_90=1.0),
        *(records(name, scale * np.array(NOPI) * n, **told) for name, n in others.items()),
    )
    (one,) = compare_results(found, {"stiffness": EXPERIMENTS["stiffness"]})
    console = Console(width=80, record=True)
    console.print(to_terminal(one))
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("1 - 9e-05") == 5
    numbers = [float(number) for number in re.findall(r"(?<![\w.])[\d.]+(?:e-\d+)?", text)]
    for s in one.order:
        assert any(abs(n / s.metrics["crps"].mean - 1) < 6e-3 for n in numbers), s.label


def test_a_difference_is_students_interval_of_paired_logarithms():
    order = {one.label: one for one in standings(FOUND, "stiffness")}
    found = order["NoPI + search"].behind
    logs = np.log(np.array(NOPI) / LUPI)
    ends = stats.t.interval(0.95, 3, logs.mean(), stats.sem(logs))
    np.testing.assert_allclose([found.mean, found.lower, found.upper], np.exp([logs.mean(), *ends]))
    assert found.sign == 1


def test_one_seed_has_no_interval_and_decides_nothing():
    found = Ratio.of([1.0], [2.0])
    assert (found.mean, found.lower, found.sign) == (0.5, None, 0)
    assert str(found) == "0.5"


def test_regret_is_against_the_ideal_observer_of_the_same_seeds():
    order = {one.label: one for one in standings(FOUND, "stiffness")}
    ratio = order["LUPI + search"].over_ideal
    expected = np.exp(np.log(np.array(LUPI) / [0.05, 0.05, 0.06, 0.05]).mean())
    assert ratio is not None
    assert ratio.mean == pytest.approx(expected)
    assert order["ideal observer"].over_ideal == Ratio(1.0, 1.0, 1.0)


def test_the_report_has_the_interval_over_the_ideal_and_how_often_recovered_values_are_covered():
    (one,) = compare_results(FOUND, EXPERIMENTS)
    standing = next(one for one in one.order if one.label == "LUPI + search")
    cells = dict(zip(COLUMNS, row(standing), strict=True))
    assert cells["over ideal [95 %]"] == str(Ratio.of(LUPI, [0.05, 0.05, 0.06, 0.05]))
    assert cells["recovered, R²"] == "0.90"
    assert cells["90 % covers recovered"] == "87 %"


def test_of_nearly_all_of_a_recovered_value_it_is_told_what_is_lacking():
    found = results(records("lupi", LUPI, recovered_error=8.2e-5))
    cells = dict(zip(COLUMNS, row(standings(found, "stiffness")[0]), strict=True))
    assert cells["recovered, R²"] == "1 - 8e-05"


def test_the_answer_names_the_best_of_several_ways_to_use_privileged_values():
    found = results(
        records("nopi", NOPI),
        records("lupi", LUPI),
        records("lupi-head", [0.19, 0.22, 0.23, 0.19]),
        records("lupi-distillation", [0.11, 0.10, 0.12, 0.11]),
    )
    said = " ".join(answers(found, "stiffness", "k"))
    assert "Of 3 ways to use it, LUPI has the lowest error" in said
    assert "these seeds cannot tell it from LUPI, distilled." in said
    one_way = results(records("nopi", NOPI), records("lupi", LUPI))
    assert "ways to use it" not in " ".join(answers(one_way, "stiffness", "k"))


def test_seconds_are_those_of_the_search_where_there_is_one():
    order = {one.label: one for one in standings(FOUND, "stiffness")}
    assert order["LUPI + search"].seconds == {"train": 3.0, "predict": 0.02}
    assert order["LUPI"].seconds == {"train": 2.0}


def test_true_values_are_held_against_none_and_against_controls():
    found = [(one.who.name, one.other.name, one.end) for one in helps(FOUND, "stiffness")]
    assert found == [
        ("lupi", other, end) for end in ("", " refined") for other in ("nopi", "lupi:shuffled")
    ]


def test_another_objective_is_no_effect_of_privileged_values():
    found = results(records("lupi", LUPI), records("nopi", NOPI))
    found.settings["models"]["nopi"]["objective"]["kl_weight"] = 1.0
    assert helps(found, "stiffness") == []


def test_the_answer_names_the_model_and_says_that_privileged_values_help():
    which, help_, few = answers(FOUND, "stiffness", "stiffness k")
    assert which.startswith("Use LUPI + search (`lupi train --model lupi`)")
    assert "The next, NoPI + search, has 2.0 times as much" in which
    assert "stiffness k helps: the error is -51 %" in help_
    assert "4 of 4 seeds in favour" in help_
    assert "it is what the values say that helps" in help_
    assert few.startswith("4 seeds are few")


TRAIN = ["train", "runs.csv", "--time", "t", "--observed", "x", "--out", "x.lupi"]


def recommended(name: str, preset: str, mode: str) -> ForecasterSettings:
    """What is trained by the command that an answer names."""
    found = results(records(name, [0.3, 0.3]), records(name, [0.1, 0.2], mode))
    found.settings["preset"] = preset
    command = re.search("`lupi train (.*?)`", answers(found, "stiffness", "")[0])
    assert command is not None
    _, bound, _ = app.parse_args([*TRAIN, *command[1].split()], print_error=False)
    given = {k: v for k, v in bound.arguments.items() if k in ("model", "preset")}
    settings = bound.arguments.get("settings")
    return forecaster_settings(**given | (settings.as_dictionary() if settings else {}))


def test_the_command_in_the_answer_trains_the_model_that_was_compared():
    number = np.arange(40)
    rows = {"run": number % 10, "t": number, "x": number, "k": number % 10}
    table = lupi.read_series(rows, series="run", time="t", observed="x", privileged="k")
    experiments = {"runs": Experiment.of_table(table)}
    for name, preset in [
        ("lupi", "best"),
        ("nopi", "paper"),
        ("np-lupi:way=head", "best"),
        ("lupi:width=4", "best"),
        ("lupi:width=4:way=dropout", "paper"),
        ("latent-ode:objective=npml", "best"),
        ("np:aggregator=bayesian", "best"),
        ("nopi-npml:objective=elbo", "best"),
    ]:
        compared = comparison_settings(all_contestants([name]), experiments, preset=preset)
        for mode, inference in [("test", "amortised"), ("test refined", "refined")]:
            found = recommended(name, preset, mode)
            for part in ("process", "objective", "uses_privileged"):
                assert getattr(found, part) == getattr(compared.models[name], part), name
            assert found.model_dump()["inference"]["kind"] == inference, name


def test_where_wrong_values_help_as_much_the_answer_says_it():
    found = results(
        records("lupi", [0.10, 0.11, 0.12]),
        records("nopi", [0.20, 0.24, 0.22]),
        records("lupi:shuffled", [0.101, 0.108, 0.121]),
    )
    help_ = answers(found, "stiffness", "k")[1]
    assert "k helps" in help_
    assert "what the values say is not shown to matter" in help_


def test_the_answer_speaks_of_each_control_that_took_part():
    names = ("lupi:shuffled", "lupi:constant", "lupi:noise", "lupi:noise=0.5")
    controls = [records(name, NOPI) for name in names]
    found = results(records("lupi", LUPI), records("nopi", NOPI), *controls)
    help_ = answers(found, "stiffness", "k")[1]
    worse = "LUPI does worse beyond chance: it is what the values say that helps."
    assert f"Shown the values of other systems instead, {worse}" in help_
    assert f"for all systems instead, with as many parameters, {worse}" in help_
    assert f"Shown noise instead, {worse}" in help_
    assert "with noise of 0.5 standard deviations, LUPI does worse beyond chance: how" in help_


def test_what_chance_could_have_done_is_not_claimed():
    found = results(records("lupi", [0.1, 0.3, 0.2]), records("nopi", [0.2, 0.2, 0.21]))
    which, help_, _ = answers(found, "stiffness", "k")
    assert "cannot tell it from" in which
    assert help_.startswith("Whether k helps cannot be told from these seeds")


def test_a_rival_that_wins_is_named_and_harm_is_called_harm():
    found = results(
        records("lupi", [0.40, 0.41, 0.42]),
        records("nopi", [0.20, 0.21, 0.22]),
        records("nearest", [0.10, 0.11, 0.10]),
    )
    which, help_, _ = answers(found, "stiffness", "k")
    assert which.startswith("Use nearest series (nearest), which is no network")
    assert "k does harm" in help_


def test_without_a_pair_nothing_is_said_of_privileged_values():
    found = results(records("lupi", [0.4, 0.41]), records("mean", [1.0, 1.1]))
    assert (
        "takes a model that learns from it and one of the same kind"
        in (answers(found, "stiffness", "k")[1])
    )


def test_error_and_coverage_by_points_and_by_time_are_told_of_everyone():
    everyone = [f"nopi:width={width}" for width in range(1, 21)]
    modes = ("test", "points 0", "points 12", "beyond 0 0.1")
    found = results(*(records(name, [0.2, 0.4], mode) for name in everyone for mode in modes))
    (one,) = compare_results(found, EXPERIMENTS)
    by_points, by_time = one.curves
    assert by_points.columns == ("model", "0", "12")
    assert by_time.columns == ("model", "0 to 0.1")
    assert len(by_points.rows) == len(by_time.rows) == len(everyone)
    assert "| NoPI, width 20 | 0.3, 30 % | 0.3, 30 % |" in to_markdown([one], found)


def test_a_model_that_failed_is_told_and_the_others_are_ranked():
    failure = Failure(experiment="stiffness", model="nopi", seed=1, reason="out of luck")
    found = results(records("lupi", [0.1, 0.2]), records("nopi", [0.3]), failures=[failure])
    (one,) = compare_results(found, EXPERIMENTS)
    assert [standing.label for standing in one.order] == ["LUPI"]
    assert one.seeds == 2
    assert "Failed: stiffness, nopi, seed 1: out of luck" in to_markdown([one], found)


def test_the_ranking_fits_eighty_columns():
    (one,) = compare_results(FOUND, EXPERIMENTS)
    console = Console(width=80, record=True)
    console.print(to_terminal(one))
    text = console.export_text()
    assert "LUPI, shuffled + search" in text
    assert "…" not in text
