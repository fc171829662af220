"""What members say of series that they were not trained on."""

import copy
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from lupi._machinery.compilation import compiled
from lupi.blending.calibration import (
    Calibration,
    distances,
    features,
    fit_calibration,
    standard_scores,
)
from lupi.blending.correction import Correction
from lupi.blending.ensemble import Units
from lupi.blending.shares import context_features
from lupi.data.held_out import Divided
from lupi.data.normalisation import Normalisation
from lupi.data.observations import Observations, Task
from lupi.data.original_units import in_original_units
from lupi.data.ragged import RaggedTasks
from lupi.distributions import AnyArray, NormalMixture
from lupi.errors import UserError
from lupi.models import AbstractPredictor
from lupi.prediction import TIMES_ASKED, predict_many

QUESTIONS = 384
"""In all, about; at least two of each series and at most `KINDS`, of some of many series."""

MOST_POINTS = 256
"""Of a series; of a longer one a random choice."""

MOST_HIDDEN, MOST_SEEN = 16, TIMES_ASKED - 16
"""Points that a question asks for, and points that it shows."""

KINDS = ("first", "random", "first", "gap", "one", "none", "last", "random")
"""What the questions of one series show, in this order."""

NUM_SAMPLES = 64


class Questions(NamedTuple):
    """Contexts of series, and other points of the same series, in the units of one fold."""

    series: Int[np.ndarray, " question"]
    """Across all folds."""
    contexts: Observations
    hidden: Observations


def ask(
    tasks: Task, labels: Int[np.ndarray, " task"], each: int, rng: np.random.Generator
) -> Questions:
    """Some questions of each series: the first third of it, random points, and so on."""
    seen = tasks.observations
    lengths = np.asarray(seen.mask).sum(axis=1)
    series, shown, hidden = [], [], []
    for i in np.flatnonzero(lengths >= 2):
        order = np.flatnonzero(seen.mask[i])
        order = order[np.argsort(np.asarray(seen.ts)[i, order], kind="stable")]
        for j in range(each):
            chosen = _choose(KINDS[j], len(order), j == 0, rng)
            some = np.flatnonzero(chosen)
            others = np.flatnonzero(~chosen)
            if len(some) > MOST_SEEN:
                some = np.sort(rng.choice(some, MOST_SEEN, replace=False))
            if len(others) > MOST_HIDDEN:
                others = np.sort(rng.choice(others, MOST_HIDDEN, replace=False))
            series.append(i)
            shown.append(order[some])
            hidden.append(order[others])

    def taken(points: list[np.ndarray], room: int) -> Observations:
        index, real = np.zeros((len(points), room), int), np.zeros((len(points), room), bool)
        for row, there, some in zip(index, real, points, strict=True):
            row[: len(some)], there[: len(some)] = some, True
        rows = np.array(series, int)[:, None]
        gaps = None if seen.gaps is None else np.asarray(seen.gaps)[rows, index]
        ts, ys = np.asarray(seen.ts)[rows, index], np.asarray(seen.ys)[rows, index]
        inputs = jax.tree.map(lambda leaf: leaf[rows[:, 0]], seen.inputs)
        return Observations(ts, ys, real, gaps, inputs)

    chosen = np.array(series, int)
    return Questions(labels[chosen], taken(shown, MOST_SEEN), taken(hidden, MOST_HIDDEN))


def _choose(
    kind: str, number: int, a_third: bool, rng: np.random.Generator
) -> Bool[np.ndarray, " _"]:
    """Which points of a series, in their order, are shown; at least one is not."""
    place = np.arange(number)
    share = 1 / 3 if a_third else rng.uniform(0.1, 0.8)
    size = int(np.clip(np.ceil(share * number), 1, number - 1))
    if kind == "first":
        return place < size
    if kind == "last":
        return place >= number - size
    if kind == "gap":
        start = rng.integers(size + 1)
        return (place < start) | (place >= start + number - size)
    if kind == "none":
        return place < 0
    size = 1 if kind == "one" else int(rng.integers(1, min(15, number - 1), endpoint=True))
    return np.isin(place, rng.choice(number, size, replace=False))


class Judged(NamedTuple):
    """How predictions did on what their predictor had not seen; each series counts as one."""

    rmse: list[float]
    """Of each observed quantity, in original units."""
    log_likelihood: float
    """Of a value, in common units."""
    crps: float
    coverage_90: float


class OutOfFold:
    """Questions of all folds, and what to make of the answers: all of it in common units."""

    def __init__(
        self,
        folds: Sequence[tuple[RaggedTasks, Int[np.ndarray, " task"], Units]],
        common: Normalisation,
        *,
        key: PRNGKeyArray,
    ):
        """`folds`: series left out, their numbers, and from common units to those of the fold."""
        self.common = common
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        total = sum(len(labels) for _, labels, _ in folds)
        each = int(np.clip(QUESTIONS // max(total, 1), 2, len(KINDS)))
        most = max(1, QUESTIONS // (2 * len(folds)))
        self.key = key
        asked: list[Questions] = []
        for tasks, labels, _ in folds:
            chosen = np.sort(rng.permutation(len(labels))[:most])
            length = min(int(tasks.lengths[chosen].max()), MOST_POINTS)
            some = tasks.take(chosen, length=length, rng=rng)
            asked.append(ask(some, labels[chosen], each, rng))
        # Of a fold whose series have one point each nothing can be asked.
        self.folds = [i for i, questions in enumerate(asked) if len(questions.series)]
        if not self.folds:
            raise UserError(
                "none of the series has two observations within the time of the others, so there "
                "is nothing to judge forecasts by: give longer series, or blend=False."
            )
        self.asked = [asked[i] for i in self.folds]
        self.units = [folds[i][2] for i in self.folds]
        hidden = self._common([asked.hidden for asked in self.asked])
        self.contexts = self._common([asked.contexts for asked in self.asked])
        self.ts = ts = hidden.ts
        there = np.broadcast_to(hidden.known, hidden.ys.shape)
        self.values = np.where(there, hidden.ys, np.nan)
        seen = self.contexts.mask.sum(axis=1)
        last = np.where(self.contexts.mask, self.contexts.ts, 0.0).max(axis=1)
        self.seen = np.broadcast_to(seen[:, None], ts.shape).astype(float)
        self.beyond, self.before = distances(self.contexts.ts, self.contexts.mask, ts)
        self.shown = context_features(seen, last)
        series = np.concatenate([a.series for a in self.asked])
        _, self.series = np.unique(series, return_inverse=True)
        number = np.bincount(self.series, there.sum(axis=(1, 2)))
        self.weights = np.where(there, 1 / np.maximum(number, 1)[self.series][:, None, None], 0.0)

    @classmethod
    def of(
        cls,
        divided: Sequence[Divided],
        common: Normalisation,
        *,
        held_out: Sequence[RaggedTasks] | None = None,
        key: PRNGKeyArray,
    ) -> "OutOfFold":
        """Of what each division holds out, or of the same in another form."""
        tasks = [part.held_out[0] for part in divided] if held_out is None else held_out
        folds = [
            (some, part.numbers[0], Units.between(common, part.normalisation))
            for some, part in zip(tasks, divided, strict=True)
        ]
        return cls(folds, common, key=key)

    def _each(self):
        return zip(self.asked, self.units, strict=True)

    def _common(self, folds: Sequence[Observations]) -> Observations:
        """Points of all folds."""
        parts = []
        for seen, units in zip(folds, self.units, strict=True):
            ts = np.asarray(seen.ts) / units.time[1] - units.time[0]
            ys = np.asarray(seen.ys) / units.observed[1] - units.observed[0]
            gaps = np.zeros(ys.shape, bool) if seen.gaps is None else seen.gaps
            parts.append((ts, ys, seen.mask, gaps))
        ts, ys, mask, gaps = (np.concatenate(some) for some in zip(*parts, strict=True))
        return Observations(ts, ys, mask, gaps)

    def answers(
        self,
        predictors: Sequence[AbstractPredictor],
        *,
        at_points: bool = False,
        brief: bool = True,
        threads: int = 1,
    ) -> NormalMixture:
        """What the predictor of each fold, in its units, says to its questions; and, if asked for,
        behind that what it says of the points that they show."""
        parts = []
        asked_of = [predictors[i] for i in self.folds]
        for predictor, (asked, units) in zip(asked_of, self._each(), strict=True):
            times = [asked.hidden.ts, asked.contexts.ts] if at_points else [asked.hidden.ts]
            found = predict_many(
                predictor,
                asked.contexts,
                np.concatenate(times, axis=1),
                num_samples=NUM_SAMPLES,
                brief=brief,
                threads=threads,
                keys=self.key,
            )
            shift, scale = units.observed
            shape = (len(asked.series), NUM_SAMPLES, *found.means.shape[2:])
            parts.append(
                [
                    np.broadcast_to(np.asarray(found.means) / scale - shift, shape),
                    np.broadcast_to(np.asarray(found.scales) / scale, shape),
                ]
            )
        return NormalMixture(*(np.concatenate(some) for some in zip(*parts, strict=True)))

    def corrected(self, mixture: NormalMixture, correction: Correction | None) -> NormalMixture:
        """Answers that go on to the points shown, moved towards these; without the points."""
        means, scales = np.asarray(mixture.means), np.asarray(mixture.scales)
        if correction is None:
            number = self.ts.shape[1]
            return NormalMixture(means[:, :, :number], scales[:, :, :number])
        moved = compiled(_moved, brief=True)(correction, means, scales, self.contexts, self.ts)
        return NormalMixture(*map(np.asarray, moved))

    def scores(self, mixture: NormalMixture) -> Float[np.ndarray, "question time observed"]:
        """How far each value lies from the middle of the answer to it."""
        return standard_scores(mixture, self.values)

    def calibrate(
        self, scores: Float[np.ndarray, "question time observed"], *, certain: bool
    ) -> Calibration:
        """As wide as the scores of answers call for."""
        there = ~np.isnan(self.values)
        spread = lambda part: np.broadcast_to(part[..., None], scores.shape)[there]  # noqa: E731
        series = np.broadcast_to(self.series[:, None, None], scores.shape)[there]
        seen, beyond, before = (spread(part) for part in (self.seen, self.beyond, self.before))
        return fit_calibration(scores[there], seen, beyond, before, series, certain=certain)

    def calibrated(self, mixture: NormalMixture, calibration: Calibration) -> NormalMixture:
        """The answers, that wide."""
        factors = calibration.factors_of(features(self.seen, self.beyond, self.before))
        return NormalMixture(*calibration.widened(mixture.means, mixture.scales, factors, np))

    def only(self, questions: Bool[np.ndarray, " question"]) -> "OutOfFold":
        """Some of the questions, to make something of answers to these; they cannot be asked."""
        some = copy.copy(self)
        places = ("ts", "seen", "beyond", "before", "shown")
        for name in ("contexts", "values", "series", "weights", *places):
            taken = jax.tree.map(lambda leaf: leaf[questions], getattr(self, name))
            setattr(some, name, taken)
        _, some.series = np.unique(some.series, return_inverse=True)
        some.asked, some.units, some.folds = [], [], []
        return some

    def judge(self, mixture: NormalMixture) -> Judged:
        """How good the answers are."""
        there, weights = ~np.isnan(self.values), self.weights / self.weights.sum()
        means = np.asarray(in_original_units(mixture, self.common).mean)
        errors = means - self.common.to_original_values(self.values)
        squares = np.where(there, errors**2, 0.0)
        of_columns = weights.sum(axis=(0, 1))
        rmse = np.sqrt((weights * squares).sum(axis=(0, 1)) / np.maximum(of_columns, 1e-12))

        below = np.asarray(mixture.probability_below(self.values))
        return Judged(
            rmse.tolist(),
            self.mean(mixture.log_density(self.values)),
            self.mean(mixture.crps(self.values)),
            self.mean(np.abs(below - 0.5) <= 0.45),
        )

    def mean(self, found: AnyArray) -> float:
        """Of something of each value, each series counting as one."""
        there = np.where(np.isnan(self.values), 0.0, np.asarray(found, float))
        return float((self.weights * there).sum() / self.weights.sum())


def _moved(correction: Correction, means, scales, contexts: Observations, ts):
    return jax.vmap(correction.moved)(means, scales, contexts, ts)
