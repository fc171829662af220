import pytest
from scipy import stats

from lupi.experiments.claims import judge_claims
from lupi.experiments.results import Floor, Metric, Record


def record(model, seed, mode="test", experiment="stiffness", **values):
    defaults = {"mse": 1.0, "spread_calibration_error": 1.0, "spread_std": 1.0} | values
    metrics = {name: Metric(mean=value, stderr=0.1) for name, value in defaults.items()}
    return Record(
        experiment=experiment, model=model, seed=seed, mode=mode, metrics=metrics, seconds={}
    )


def pairs(nopi, lupi, metric="mse", **rest):
    return [
        record(model, seed, **{metric: value}, **rest)
        for model, values in (("nopi", nopi), ("lupi", lupi))
        for seed, value in enumerate(values)
    ]


FLOORS = [
    Floor(experiment=experiment, seed=seed, mse=Metric(mean=2.0, stderr=0.1))
    for experiment in ("stiffness", "damping")
    for seed in range(3)
]


def claim_about(claims, name):
    return next(claim for claim in claims if claim["claim"] == name)


def test_a_steady_gain_holds_with_scipys_interval():
    nopi, lupi = [1.0, 1.1, 1.3], [0.5, 0.55, 0.7]
    claim = claim_about(judge_claims(pairs(nopi, lupi), FLOORS), "accuracy")
    assert claim["verdict"] == "holds"
    expected = stats.ttest_rel(nopi, lupi).confidence_interval(0.95)
    assert (claim["gain"]["lower"], claim["gain"]["upper"]) == pytest.approx(tuple(expected))
    assert claim["seeds_in_favour"] == 3
    assert claim["gain"]["mean"] == pytest.approx(0.55)
    assert claim["floor"]["mean"] == 2.0


@pytest.mark.parametrize("lupi", [[0.2, 1.5, 0.9], [1.8, 0.5, 1.1]])
def test_a_difference_within_the_noise_is_undecided_whatever_its_sign(lupi):
    claims = judge_claims(pairs([1.0, 1.0, 1.0], lupi), FLOORS)
    assert claim_about(claims, "accuracy")["verdict"] == "undecided"


def test_a_steady_loss_contradicts():
    claims = judge_claims(pairs([1.0, 1.0, 1.0], [1.3, 1.35, 1.25]), FLOORS)
    assert claim_about(claims, "accuracy")["verdict"] == "contradicted"


def test_one_seed_decides_nothing():
    claim = claim_about(judge_claims(pairs([1.0], [0.1]), FLOORS[:1]), "accuracy")
    assert (claim["verdict"], claim["gain"]["lower"]) == ("undecided", None)


def test_seeds_without_their_pair_are_left_out():
    lone = record("lupi", 7, mse=100.0)
    claim = claim_about(judge_claims([*pairs([1.0, 1.2], [0.5, 0.6]), lone], FLOORS), "accuracy")
    assert claim["seeds"] == 2


def test_calibration_is_judged_by_its_own_metric():
    records = pairs([1.0, 1.1, 1.2], [0.5, 0.6, 0.7], metric="spread_calibration_error")
    claims = judge_claims(records, FLOORS)
    assert claim_about(claims, "calibration")["verdict"] == "holds"
    assert claim_about(claims, "accuracy")["verdict"] == "undecided"


def test_less_sharp_beyond_chance_in_most_cells_holds():
    records = pairs([1.0, 1.0], [2.0, 2.0], metric="spread_std")
    records += pairs([1.0, 1.0], [3.0, 3.1], metric="spread_std", mode="train")
    records += pairs([1.0, 1.0], [0.5, 0.6], metric="spread_std", experiment="damping")
    claim = claim_about(judge_claims(records, FLOORS), "sharpness")
    assert (claim["count"], claim["of"], claim["verdict"]) == (2, 3, "holds")
    assert (claim["beyond_chance"], claim["sharper_beyond_chance"]) == (2, 0)


def test_less_sharp_in_most_cells_by_chance_is_undecided():
    records = pairs([1.0, 1.0], [2.0, 1.1], metric="spread_std")
    records += pairs([1.0, 1.0], [3.0, 1.2], metric="spread_std", mode="train")
    claim = claim_about(judge_claims(records, FLOORS), "sharpness")
    assert (claim["count"], claim["beyond_chance"], claim["verdict"]) == (2, 0, "undecided")


def test_one_seed_decides_nothing_about_sharpness():
    claim = claim_about(judge_claims(pairs([1.0], [2.0], metric="spread_std"), FLOORS), "sharpness")
    assert (claim["count"], claim["verdict"]) == (1, "undecided")


def test_with_one_model_there_is_nothing_to_judge():
    assert judge_claims([record("lupi", 0)], FLOORS) == []
