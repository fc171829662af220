"""Names of who takes part in a comparison."""

import dataclasses

import pytest
from test_tables import springs

from lupi.errors import UserError
from lupi.experiments import EXPERIMENTS, Experiment
from lupi.experiments.comparison import (
    check_contestants,
    comparison_settings,
    default_contestants,
)
from lupi.experiments.contestants import all_contestants, contestant
from lupi.experiments.expected import expected_run, expected_seconds, packed
from lupi.inference import Amortised
from lupi.objectives import Renyi
from lupi.registry import MODELS
from lupi.report.standings import _told_less

TABLE = {"springs": Experiment.of_table(springs())}


def test_a_name_says_the_model_and_what_is_changed():
    assert contestant("lupi").privileged == "true"
    assert contestant("lupi:shuffled").privileged == "shuffled"
    assert contestant("lupi:noise=0.5").privileged == 0.5
    assert contestant("lupi:constant:amortised").encoder_only
    assert contestant("lupi:width=4").width == 4
    assert contestant("np-lupi:way=head").settings(MODELS).process.privileged_way == "head"
    assert contestant("np:aggregator=max").settings(MODELS).process.aggregator == "max"
    assert contestant("nd2p:objective=renyi").settings(MODELS).objective == Renyi()
    assert contestant("nearest").is_rival
    assert [one.name for one in all_contestants(["lupi", "mean", "lupi"])] == ["lupi", "mean"]


def test_a_label_says_all_that_is_changed_by_a_name():
    label = contestant("np-lupi:way=head:aggregator=bayesian:objective=npml").label
    assert label == "NP, LUPI, head, bayesian, npml"


def test_a_control_has_the_label_of_its_model_and_its_colour_paler():
    true, control = contestant("lupi"), contestant("lupi:shuffled")
    assert control.label == f"{true.label}, shuffled"
    assert control.colour > true.colour
    assert "shuffled between systems" in control.summary


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_the_bound_by_its_name_is_that_of_the_preset(preset):
    chosen = all_contestants(["nopi", "lupi:objective=elbo", "nopi-npml:objective=elbo"])
    models = comparison_settings(chosen, preset=preset).models.values()
    assert len({model.objective for model in models}) == 1


def test_what_values_are_worth_is_told_beside_the_same_objective_and_the_same_controls():
    names = ["lupi:objective=renyi", "nopi", "nopi-renyi", "lupi:shuffled", "np", "nopi:width=4"]
    names += ["lupi:objective=renyi:shuffled", "lupi:width=4", "lupi-renyi", "mean"]
    names += ["np:aggregator=max", "np-lupi:aggregator=max:shuffled"]
    others = all_contestants(names)
    asked = ("lupi:objective=renyi", "lupi-renyi", "lupi:width=4", "np-lupi:way=head")
    asked += ("np-lupi:aggregator=max",)
    settings = comparison_settings(all_contestants([*names, *asked])).model_dump(mode="json")
    told = {
        name: [one.name for one in _told_less(contestant(name), others, settings["models"])]
        for name in asked
    }
    assert told == {
        "lupi:objective=renyi": ["nopi-renyi", "lupi:objective=renyi:shuffled"],
        "lupi-renyi": ["nopi-renyi"],
        "lupi:width=4": ["nopi:width=4"],
        "np-lupi:way=head": ["np"],
        "np-lupi:aggregator=max": ["np:aggregator=max", "np-lupi:aggregator=max:shuffled"],
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lupo", "unknown model 'lupo'.*Did you mean 'lupi'"),
        ("lupi:shufled", "expected one of shuffled, .* behind the colon, got 'shufled'"),
        ("lupi:noise=much", "behind the colon, got 'noise=much'"),
        ("lupi:noise=-1", "behind the colon, got 'noise=-1'"),
        ("nopi:shuffled", "nopi learns from no privileged values.*ask for lupi:shuffled"),
        ("cnp:noise=2", "cnp learns from no privileged values"),
        ("nearest:amortised", "nearest is no network"),
        ("lupi:way=heads", "unknown way of lupi 'heads'.*Did you mean 'head'"),
        ("nopi:way=head", "nopi has no way of using privileged values"),
        ("np:aggregator=bayes", "unknown aggregator of np 'bayes'.*Did you mean 'bayesian'"),
        ("gp:aggregator=max", "gp is no network"),
        ("lupi:objective=elbow", "unknown objective of lupi 'elbow'.*Did you mean 'elbo'"),
    ],
)
def test_a_name_that_means_nothing_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        contestant(name)


@pytest.mark.parametrize(
    ("name", "privileged", "message"),
    [
        ("ideal", True, "ideal knows the equations of simulated systems, and springs is a table"),
        ("lupi", False, "lupi learns from privileged values, and springs has none"),
        ("lupi:noise", False, "name its privileged columns"),
    ],
)
def test_who_cannot_take_part_in_a_table_is_refused(name, privileged, message):
    experiment = TABLE["springs"]
    if not privileged:
        experiment = dataclasses.replace(experiment, privileged="")
    with pytest.raises(UserError, match=message):
        check_contestants(all_contestants([name]), {"springs": experiment})


def test_those_who_take_part_by_default_can():
    for experiments in (EXPERIMENTS, TABLE):
        for quick in (True, False):
            chosen = all_contestants(default_contestants(experiments.values(), quick=quick))
            check_contestants(chosen, experiments)
            assert {"nopi", "lupi", "lupi:shuffled"} <= {one.name for one in chosen}
    untold = [dataclasses.replace(TABLE["springs"], privileged="")]
    assert "lupi" not in default_contestants(untold, quick=False)


def test_a_comparison_asks_the_encoder_alone_and_then_the_search():
    settings = comparison_settings(all_contestants(["lupi", "lupi:shuffled", "mean"]))
    assert set(settings.models) == {"lupi", "lupi:shuffled"}
    assert settings.rivals == ("mean",)
    assert all(model.inference == Amortised() for model in settings.models.values())
    run = settings.experiments["stiffness"]
    assert run.evaluation.refined
    assert (run.evaluation.points[0], run.evaluation.points[-1]) == (0, 20)
    steps = run.training.epochs * (run.data.num_training // run.training.batch_size)
    assert steps == 5_000


def test_a_table_is_divided_and_its_training_is_as_long_as_was_asked():
    settings = comparison_settings(all_contestants(["nopi"]), TABLE, steps=70)
    run = settings.experiments["springs"]
    assert run.training.epochs * (run.data.num_training // run.training.batch_size) >= 70
    assert run.data.num_training == 14


def test_the_default_comparison_is_expected_to_take_at_most_half_an_hour():
    chosen = all_contestants(default_contestants(EXPERIMENTS.values(), quick=False))
    settings = comparison_settings(chosen)
    expected = expected_seconds(settings, chosen, EXPERIMENTS, seeds=3, workers=2)
    assert 300 < expected < 1800
    more = expected_seconds(settings, chosen, EXPERIMENTS, seeds=9, workers=2)
    assert 2 * expected < more <= 3 * expected


def test_one_call_is_on_one_core_however_many_there_are():
    chosen = all_contestants(["lupi"])
    settings = comparison_settings(chosen)
    expected = [
        expected_seconds(settings, chosen, ["stiffness"], seeds=3, workers=workers)
        for workers in (1, 2, 8)
    ]
    assert expected == [expected[0]] * 3
    assert expected[0] > 3 * sum(expected_run(settings, "stiffness", "lupi"))


def test_calls_are_packed_onto_workers_the_longest_first():
    assert packed([2.0, 3.0, 7.0, 2.0], 2) == 7
    assert packed([2.0, 3.0, 7.0, 4.0], 2) == 9
    assert packed([], 2) == 0
