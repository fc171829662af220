"""Settings that are chosen by series left out: the rule, the command line and files."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import lupi
from lupi.cli import main
from lupi.errors import UserError
from lupi.forecasting.choosing import checkpoints, learn_and_choose
from lupi.forecasting.learning import Learned
from lupi.forecasting.settings import forecaster_settings
from lupi.training import DivergenceError


def make_runs(number: int = 8) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    t = np.tile(np.linspace(0, 4, 8), number)
    run = np.repeat(np.arange(number), 8)
    return pd.DataFrame({"run": run, "t": t, "x": np.sin(t + run) + 0.1 * rng.normal(size=len(t))})


def choose(losses: dict, stopped_at=None, checkpoint=None, stopped_by=KeyboardInterrupt):
    """What is chosen where settings come to these errors, by weight of the divergence and width;
    and what was tried, with which checkpoint."""
    asked = []

    def learn(settings, *, checkpoint):
        who = settings.objective.kl_weight, settings.process.hidden_size
        asked.append((who, checkpoint))
        if isinstance(losses[who], BaseException):
            raise losses[who]
        stopped = stopped_by("it broke") if who == stopped_at else None
        return Learned(SimpleNamespace(provenance={}), settings, stopped, losses[who])

    found = learn_and_choose(
        learn, forecaster_settings(choose=True), checkpoint=checkpoint, say=lambda _: None
    )
    best = found.settings.objective.kl_weight, found.settings.process.hidden_size
    return best, found.fitted.provenance, asked, found.stopped_by


@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ({(0.1, 64): 1.0, (1.0, 64): 2.0, (0.1, 32): 3.0}, (0.1, 64)),
        ({(0.1, 64): 3.0, (1.0, 64): 2.0, (1.0, 32): 1.0}, (1.0, 32)),
        ({(0.1, 64): 3.0, (1.0, 64): 1.0, (1.0, 32): 2.0}, (1.0, 64)),
        ({(0.1, 64): 2.0, (1.0, 64): 3.0, (0.1, 32): 1.0}, (0.1, 32)),
    ],
)
def test_what_forecasts_series_left_out_best_is_taken_one_change_at_a_time(losses, best):
    found, provenance, asked, _ = choose(losses)
    assert found == best
    assert [who for who, _ in asked] == list(losses)
    assert list(provenance["tried"].values()) == list(losses.values())
    assert list(provenance["tried"])[:2] == ["as it is", "kl_weight 1"]
    assert provenance["asked"] == forecaster_settings(choose=True).model_dump(mode="json")


def test_each_training_has_a_checkpoint_of_its_own():
    losses = {(0.1, 64): 1.0, (1.0, 64): 2.0, (0.1, 32): 3.0}
    *_, asked, _ = choose(losses, checkpoint="there")
    assert [path for _, path in asked] == ["there", "there.1", "there.2"]
    choosing = forecaster_settings(choose=True)
    assert checkpoints("there", choosing) == ["there", "there.1", "there.2"]
    assert checkpoints("there", forecaster_settings(model="cnp", choose=True))[1:] == ["there.1"]
    assert checkpoints("there", forecaster_settings()) == ["there"]


def test_stopped_in_the_middle_nothing_more_is_tried_and_the_best_is_kept():
    losses = {(0.1, 64): 1.0, (1.0, 64): 2.0}
    best, provenance, _, stopped_by = choose(losses, stopped_at=(1.0, 64))
    assert best == (0.1, 64)
    assert len(provenance["tried"]) == 2
    assert provenance["interrupted"]
    assert isinstance(stopped_by, KeyboardInterrupt)


def test_stopped_before_a_change_has_come_to_anything_the_best_so_far_is_kept():
    losses = {(0.1, 64): 1.0, (1.0, 64): KeyboardInterrupt()}
    best, provenance, _, stopped_by = choose(losses)
    assert best == (0.1, 64)
    assert list(provenance["tried"]) == ["as it is"]
    assert provenance["interrupted"]
    assert isinstance(stopped_by, KeyboardInterrupt)


def test_what_is_wrong_with_more_than_a_setting_is_not_passed_over():
    losses = {(0.1, 64): 1.0, (1.0, 64): UserError("the checkpoint is of another training")}
    with pytest.raises(UserError, match="of another training"):
        choose(losses)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_change_with_which_training_breaks_down_is_left_out(at_once):
    broken = DivergenceError("the loss stopped being a number") if at_once else 0.1
    losses = {(0.1, 64): 2.0, (1.0, 64): broken, (0.1, 32): 1.0}
    best, provenance, _, stopped_by = choose(losses, stopped_at=(1.0, 64), stopped_by=UserError)
    assert best == (0.1, 32)
    assert list(provenance["tried"]) == ["as it is", "hidden_size 32"]
    assert stopped_by is None


def test_the_command_chooses_keeps_what_it_chose_and_knows_when_it_is_finished(tmp_path, capsys):
    make_runs().to_csv(tmp_path / "runs.csv", index=False)
    options = ["--series", "run", "--time", "t", "--observed", "x", "--model", "np"]
    options += ["--members", "2", "--no-blend", "--inference", "amortised", "--choose"]
    options += ["--process.hidden-size", "8", "--process.representation-size", "8"]
    options += ["--train.epochs", "2", "--train.batch-size", "4", "--json"]
    train = ["train", str(tmp_path / "runs.csv"), *options, "--out", str(tmp_path / "m.lupi")]
    main(train)
    said = capsys.readouterr()
    tried = json.loads(said.out)["tried"]
    assert list(tried) == ["as it is", "kl_weight 1", "hidden_size 64"]
    assert "Trying hidden_size 64" in said.err
    chosen = lupi.load(tmp_path / "m.lupi")
    widest = tried["hidden_size 64"] == min(tried.values())
    assert (chosen.settings.process.hidden_size == 64) == widest
    assert chosen.provenance["asked"]["process"]["hidden_size"] == 8
    assert sorted(path.name for path in tmp_path.glob("m.lupi*")) == ["m.lupi"]
    main(train)
    assert "is finished, from the same data, settings and seed" in capsys.readouterr().err
    main(["show", str(tmp_path / "m.lupi")])
    shown = capsys.readouterr().out
    assert "tried" in shown
    assert "asked" not in shown
