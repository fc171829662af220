"""Who forecasts best in a comparison, by how much, and how sure that is."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lupi.experiments.contestants import Contestant, contestant
from lupi.experiments.modes import REFINED
from lupi.experiments.results import Record, Results
from lupi.metrics import Estimate, Interval, estimate, interval
from lupi.rivals import RIVALS

SCORE = "crps"
"""What decides: a proper score, in the unit of the data."""

IDEAL = "ideal"


class Ratio(NamedTuple):
    """One positive number over another, in pairs of seeds: the geometric mean, and its interval."""

    mean: float
    lower: float | None
    upper: float | None

    @classmethod
    def of(cls, numerators, denominators) -> "Ratio":
        """From the values of each seed."""
        found = interval(np.log(np.asarray(numerators) / np.asarray(denominators)))
        return cls(*(None if end is None else float(np.exp(end)) for end in found))  # pyright: ignore[reportArgumentType]

    @property
    def sign(self) -> int:
        """1 if all of the interval lies above 1, -1 if below, and 0 if it cannot be told."""
        if self.lower is None or self.upper is None or self.lower <= 1 <= self.upper:
            return 0
        return 1 if self.lower > 1 else -1

    def __str__(self) -> str:
        text = brief(self.mean)
        if self.lower is None or self.upper is None:
            return text
        return f"{text} [{brief(self.lower)}, {brief(self.upper)}]"


def brief(number: float, digits: int = 3) -> str:
    """So many digits that tell, as people write them where that is shorter."""
    if not 1e-4 <= abs(number) < 1e6:
        return f"{number:.{digits}g}"
    return np.format_float_positional(
        number, precision=digits, unique=False, fractional=False, trim="-"
    )


class Standing(NamedTuple):
    """One contestant, asked in one way, among the others."""

    who: Contestant
    end: str
    """What the names of its modes end in: nothing, or that it searches."""
    metrics: Mapping[str, Estimate]
    """Over seeds."""
    behind: Ratio
    """Its score over that of the best."""
    over_ideal: Ratio | None
    """And over that of the ideal observer."""
    lost_to_ideal: Interval | None
    """Log-likelihood of a value."""
    seconds: Mapping[str, float]

    @property
    def label(self) -> str:
        """As tables show it."""
        return self.who.label + (" + search" if self.end == REFINED else "")

    @property
    def competes(self) -> bool:
        """Whether a user could choose it: it knows no equations, and its values are true."""
        knows = self.who.is_rival and RIVALS[self.who.base].needs_equations
        return not knows and self.who.privileged == "true"


class Scores:
    """The records of one experiment, by model, mode and seed."""

    def __init__(self, results: Results, experiment: str):
        failed = {one.model for one in results.failures if one.experiment == experiment}
        records = [r for r in results.records if r.experiment == experiment]
        self.records = {(r.model, r.mode, r.seed): r for r in records if r.model not in failed}
        self.models = list(dict.fromkeys(model for model, _, _ in self.records))
        of_models = [{s for m, _, s in self.records if m == model} for model in self.models]
        # Only seeds that every model has: other means would not be paired.
        self.seeds = sorted(set.intersection(*of_models)) if of_models else []

    def has(self, model: str, mode: str, metric: str = SCORE) -> bool:
        """Whether every seed has this number."""
        found = [self.records.get((model, mode, seed)) for seed in self.seeds]
        return bool(found) and all(r is not None and metric in r.metrics for r in found)

    def values(self, model: str, mode: str, metric: str = SCORE) -> np.ndarray:
        """Of each seed."""
        return np.array([self.record(model, mode, s).metrics[metric].mean for s in self.seeds])

    def record(self, model: str, mode: str, seed: int) -> Record:
        """One record."""
        return self.records[model, mode, seed]

    def numbers(self, kind: str) -> list[tuple[float, ...]]:
        """Of the modes of one kind, `points` or `beyond`, in order."""
        names = {mode.removesuffix(REFINED) for _, mode, _ in self.records}
        found = (name.split(" ") for name in names if name.startswith(f"{kind} "))
        return sorted(tuple(float(part) for part in parts[1:]) for parts in found)

    def entries(self) -> list[tuple[str, str]]:
        """Each model, and each way it was asked."""
        return [
            (model, end)
            for model in self.models
            for end in ("", REFINED)
            if self.has(model, "test" + end)
        ]


def standings(results: Results, experiment: str) -> list[Standing]:
    """Everyone in one experiment, the best first."""
    scores = Scores(results, experiment)
    entries = scores.entries()
    if not entries:
        return []
    order = sorted(entries, key=lambda one: np.log(scores.values(one[0], "test" + one[1])).mean())
    able = [one for one in order if _could_be_chosen(one[0])] or order
    best = scores.values(able[0][0], "test" + able[0][1])
    return [_standing(scores, model, end, best) for model, end in order]


def _could_be_chosen(model: str) -> bool:
    who = contestant(model)
    return who.privileged == "true" and not (who.is_rival and RIVALS[who.base].needs_equations)


def _standing(scores: Scores, model: str, end: str, best: np.ndarray) -> Standing:
    mode = "test" + end
    names = scores.record(model, mode, scores.seeds[0]).metrics
    metrics = {
        name: estimate(scores.values(model, mode, name))
        for name in names
        if scores.has(model, mode, name)
    }
    over_ideal = lost = None
    if scores.has(IDEAL, "test"):
        over_ideal = Ratio.of(scores.values(model, mode), scores.values(IDEAL, "test"))
        if all(scores.has(m, w, "log_likelihood") for m, w in ((IDEAL, "test"), (model, mode))):
            ideal = scores.values(IDEAL, "test", "log_likelihood")
            lost = interval(ideal - scores.values(model, mode, "log_likelihood"))
    return Standing(
        who=contestant(model),
        end=end,
        metrics=metrics,
        behind=Ratio.of(scores.values(model, mode), best),
        over_ideal=over_ideal,
        lost_to_ideal=lost,
        seconds=_seconds(scores, model, end),
    )


def _seconds(scores: Scores, model: str, end: str) -> dict[str, float]:
    """To train (and to learn what the search needs), and to forecast one system once compiled."""
    own = [r for (m, _, seed), r in scores.records.items() if m == model and seed in scores.seeds]
    # The first forecast of each kind is compiled, so the quickest tells.
    predicting = [
        r.seconds["predict"]
        for r in own
        if "predict" in r.seconds and r.mode.endswith(REFINED) == (end == REFINED)
    ]
    trained = [r.seconds for r in own if r.mode == "test"]
    training = float(np.mean([one["train"] for one in trained]))
    if end == REFINED:
        training += float(np.mean([one.get("prepare", 0.0) for one in trained]))
    return {"train": training} | ({"predict": min(predicting)} if predicting else {})


class Help(NamedTuple):
    """One model against another that was told less, or nothing."""

    who: Contestant
    other: Contestant
    end: str
    ratio: Ratio
    """The score of the first over that of the second: below 1, what it was told helps."""
    seeds_in_favour: int
    seeds: int


def helps(results: Results, experiment: str) -> list[Help]:
    """Of each model that learnt from true privileged values: against the model of the same kind
    that learnt from none, and against its own controls."""
    scores, models = Scores(results, experiment), results.settings["models"]
    found = []
    for model, end in scores.entries():
        who = contestant(model)
        if not who.uses_privileged or who.privileged != "true":
            continue
        for one in _told_less(who, [contestant(other) for other in scores.models], models):
            if scores.has(one.name, "test" + end):
                ours, theirs = (scores.values(m, "test" + end) for m in (model, one.name))
                favour = int((ours < theirs).sum())
                ratio = Ratio.of(ours, theirs)
                found.append(Help(who, one, end, ratio, favour, len(scores.seeds)))
    return found


def _told_less(
    who: Contestant, others: Sequence[Contestant], models: Mapping[str, Any]
) -> list[Contestant]:
    """Its controls, and those like it in all but what is privileged, the objective among it; by
    the settings that each was trained with."""
    others = [one for one in others if not one.is_rival]
    like = who._replace(name="", privileged="true")
    controls = [
        one
        for one in others
        if one.privileged != "true" and one._replace(name="", privileged="true") == like
    ]
    ours = _without_privileged(models[who.name])
    alike = [
        one
        for one in others
        if not one.uses_privileged and _without_privileged(models[one.name]) == ours
    ]
    return alike + controls


def _without_privileged(model: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The process and the objective, without what only privileged values have to do with."""
    process = {k: v for k, v in model["process"].items() if not k.startswith("privileged")}
    return process, model["objective"]
