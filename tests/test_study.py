"""`lupi study`: what it asks, and its smoke run."""

import re
from itertools import product

import jax
import numpy as np
import pytest
from scipy import stats

from lupi.cli import main
from lupi.evaluation import draw_contexts
from lupi.experiments import (
    EXPERIMENTS,
    Record,
    Results,
    RunFolder,
    all_contestants,
    comparison_settings,
    quick_settings,
    read_results,
    reproduction,
    run,
)
from lupi.experiments.results import Floor, Metric
from lupi.experiments.study import LIKE_TRAINING, PARTS, SHIFTS, WATCHED
from lupi.experiments.systems import make_shifted
from lupi.report.study import show_part
from test_command_mistakes import fails

SETTINGS = quick_settings().experiments["stiffness"]


def smoke(out, parts: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "_is_known_to_workers", lambda call: False)
        main(["study", "--quick", *parts.split(), "--workers", "1", "--out", str(out)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a smoke run of one part."""
    out = tmp_path_factory.mktemp("study") / "out"
    smoke(out, "--parts generalisation --seeds 1")
    return out


def check_parts(out, names) -> None:
    page = (out / "report.html").read_text()
    for name in names:
        part = PARTS[name](True)
        results = read_results(out / name)
        assert {record.model for record in results.records} == set(part.models)
        assert {record.experiment for record in results.records} == set(part.experiments)
        assert part.title in page
        # Of functions there is nothing to draw a line against.
        assert (out / "figures" / f"{name}.png").exists() == (name != "functions")
    assert not re.search(r'(src|href)="(?!data:|#)', page)


def test_a_part_has_its_folder_of_results_and_the_report_an_answer(finished):
    check_parts(finished, ["generalisation"])


@pytest.mark.slow
def test_every_part_has_its_folder_of_results_and_the_report_an_answer(tmp_path):
    smoke(tmp_path / "out", "")
    check_parts(tmp_path / "out", PARTS)


def records(part, values) -> Results:
    """Results of a part, with errors that are known: of each experiment, model and seed."""
    metrics = {"crps": 0, "mse": 0, "coverage_90": 0}
    found = [
        Record(
            experiment=experiment,
            model=model,
            seed=seed,
            mode="test",
            metrics={name: Metric(mean=value, stderr=None) for name in metrics},
            seconds={},
        )
        for experiment in part.experiments
        for model in part.models
        for seed, value in enumerate(values(experiment, model))
    ]
    floors = [
        Floor(experiment=experiment, seed=seed, mse=Metric(mean=2.0, stderr=None))
        for experiment in part.experiments
        for seed in range(3)
    ]
    return Results(settings={}, records=found, floors=floors, claims=[])


def test_the_answer_on_few_systems_says_at_each_size_whether_lupi_gains():
    part = PARTS["samples"](False)

    def values(experiment, model):
        better = model == "lupi" and experiment.endswith("-25")
        return [0.5, 0.52, 0.51] if better else [1.0, 1.03, 0.98]

    shown = show_part(part, records(part, values))
    assert shown.answer[0] == (
        "Varying stiffness: what is privileged helps with 25 systems; makes no difference that "
        "these seeds tell with 50, 100, 200, 400 systems."
    )
    assert len(shown.answer) == 3
    assert shown.figure is not None


def test_the_answer_on_strange_systems_counts_where_a_model_is_too_sure():
    part = PARTS["generalisation"](False)
    (name, experiment), *_ = part.experiments.items()
    found = []
    for shift in experiment.shifts:
        error, std = (1.0, 1.0) if shift == "same" else (8.0, 8.0 if shift == "noise" else 1.5)
        for model, seed in product(("lupi", "nopi"), range(3)):
            worse = 2.0 if model == "nopi" else 1.0
            values = {"crps": worse * error, "std": std, "coverage_90": 0.9, "strangers": 0.25}
            metrics = {
                n: Metric(mean=v * (1 + 0.01 * seed), stderr=None) for n, v in values.items()
            }
            for mode in ("test", f"shift {shift}"):
                found.append(
                    Record(
                        experiment=name,
                        model=model,
                        seed=seed,
                        mode=mode,
                        metrics=metrics,
                        seconds={},
                    )
                )
    shown = show_part(part, Results(settings={}, records=found, floors=[], claims=[]))
    sure, strangers, told = shown.answer
    assert sure.startswith("Of 6 kinds of strange systems or points")
    assert "as it gets wrong on 1. It is too sure on: Varying stiffness, k in (1, 1.5)" in sure
    assert strangers.startswith("25 % of systems like those of training are called strangers")
    assert told.startswith("Beyond chance, LUPI's error is lower than NoPI's on 7 of 7")
    assert len(shown.rows) == 7
    assert len(shown.more) == 14


def test_the_answer_on_width_says_from_where_on_something_is_learnt():
    part = PARTS["width"](False)
    results = records(part, lambda _, model: [0.1 if part.values[model] >= 3 else 1.9] * 3)
    shown = show_part(part, results)
    assert [one.split(" learns something")[0] for one in shown.answer] == ["NoPI", "LUPI"]
    assert all(one.endswith("from width 3 on.") for one in shown.answer)
    assert not shown.searches
    only_nopi = records(part, lambda _, model: [0.1 if model.startswith("nopi") else 1.9] * 3)
    nopi, lupi = show_part(part, only_nopi).answer
    assert nopi.endswith("from width 1 on.")
    assert lupi.endswith("at none of these widths.")


def test_errors_over_the_floor_have_intervals_of_numbers_that_they_can_be():
    """An error is positive: its interval is that of its logarithm, as in the figure."""
    part = PARTS["longer"](False)
    results = records(part, lambda *_: [0.1, 0.4, 6.4])
    *_, told = show_part(part, results).rows[0]
    mean, lower, upper = (float(number) for number in re.findall(r"[\d.]+", told))
    logs = np.log(np.array([0.1, 0.4, 6.4]) / 2)
    reach = stats.t.ppf(0.975, 2) * logs.std(ddof=1) / np.sqrt(3)
    expected = np.exp(logs.mean() + np.array([0, -reach, reach]))
    np.testing.assert_allclose([mean, lower, upper], expected, rtol=6e-3)


def test_the_answer_on_longer_training_says_whether_the_error_rises():
    part = PARTS["longer"](False)
    results = records(part, lambda name, _: [part.values[name] * x for x in (0.1, 0.11, 0.12)])
    assert (
        "after 8 times as long the error is higher: 8 [8, 8]" in show_part(part, results).answer[0]
    )


def test_a_run_is_judged_on_every_shift(finished):
    modes = {record.mode for record in read_results(finished / "generalisation").records}
    shifts = {"same", *SHIFTS["stiffness"], *WATCHED}
    assert {mode.removeprefix("shift ") for mode in modes if mode.startswith("shift")} == shifts


def test_a_network_of_another_width_has_other_layers():
    models = PARTS["width"](False).settings.models
    assert models["lupi:width=3:amortised"].process.hidden_size == 3
    assert models["nopi:width=16:amortised"].process.hidden_size == 16


@pytest.mark.slow
def test_with_the_search_it_is_told_which_share_are_strangers(tmp_path):
    part = PARTS["generalisation"](True)
    ((name, experiment),) = part.experiments.items()
    settings = comparison_settings(all_contestants(["lupi"]), part.experiments, quick=True)
    evaluation = settings.experiments[name].evaluation.model_copy(update={"points": (5,)})
    own = settings.experiments[name].model_copy(update={"evaluation": evaluation})
    (found,) = run([RunFolder(tmp_path, name, "lupi", 0)], own, settings.models["lupi"], experiment)
    by_mode = {record.mode: record.metrics for record in found.records}
    for shift in experiment.shifts:
        assert 0 <= by_mode[f"shift {shift} refined"]["strangers"].mean <= 1
        assert "strangers" not in by_mode[f"shift {shift}"]
    assert "recovered_error" in by_mode["test refined"]
    assert "points 5 refined" in by_mode


def test_longer_training_has_more_epochs_and_fewer_systems_are_fewer():
    longer = PARTS["longer"](False).settings.experiments
    assert longer["stiffness-1x"].training.epochs == 100
    assert longer["stiffness-8x"].training.epochs == 800
    samples = PARTS["samples"](False).settings.experiments
    assert samples["damping-25"].data.num_training == 25
    steps = {n: r.training.epochs * (r.data.num_training // 8) for n, r in samples.items()}
    assert max(steps.values()) <= 1.1 * min(steps.values())


@pytest.mark.parametrize("experiment", SHIFTS)
def test_shifted_systems_are_unlike_those_of_training(experiment):
    """By what is privileged; of populations by how they begin."""

    def values(shift) -> np.ndarray:
        tasks = make_shifted(EXPERIMENTS[experiment], shift, SETTINGS, key=jax.random.key(0))
        begins = experiment == "lotka-volterra"
        return tasks.observations.ys[:, 0] if begins else tasks.privileged

    first = next(iter(SHIFTS[experiment].values()))
    assert (values(first).min(axis=0) > values(LIKE_TRAINING).max(axis=0)).all()


def test_points_are_seen_when_the_shift_says():
    experiment = EXPERIMENTS["stiffness"]
    for name, (low, high) in {
        "early": (0, 1 / 3),
        "late": (2 / 3, 1),
        "twice-as-long": (0, 1),
    }.items():
        shift = WATCHED[name]
        tasks = make_shifted(experiment, shift, SETTINGS, key=jax.random.key(0))
        assert tasks.observations.ts.max() == pytest.approx(shift.horizons)
        contexts = draw_contexts(
            tasks.observations, (5, 9), window=shift.window, key=jax.random.key(1)
        )
        seen = contexts.ts[contexts.mask]
        assert seen.min() >= low - 1e-6
        assert seen.max() <= high + 1e-6
        assert (contexts.mask.sum(axis=1) >= 5).all()


def test_an_unknown_part_is_refused_before_anything_is_done(capsys, tmp_path):
    out = tmp_path / "out"
    assert "unknown part 'wdith'" in fails(["study", "--parts", "wdith", "--out", out], capsys)
    assert not out.exists()


def test_a_folder_of_the_users_is_left_alone(capsys, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("mine")
    assert "no results of `lupi study`" in fails(["study", "--quick", "--out", tmp_path], capsys)
    assert report.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [report]
