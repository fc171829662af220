"""The blend that forecasts best what its parts have not seen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lupi.blending.blend import which_part
from lupi.blending.calibration import Calibration
from lupi.blending.correction import Correction
from lupi.blending.out_of_fold import NUM_SAMPLES, Judged, OutOfFold
from lupi.blending.shares import Scores, Share, fit_shares, weights_at
from lupi.distributions import NormalMixture

CORRECTIONS = tuple(Correction.of(*numbers) for numbers in product((0.1, 0.3, 1.0), (0.3, 1.0)))
"""Among which the questions choose, or none: how much trajectories may lack, and over what length
that changes."""

GROUPS, FEW = 5, 8
"""Of series, each of which is blended as the others say; of so few series each is one."""


class Blending(NamedTuple):
    """How parts are put together, and how each of them did alone and all together."""

    shares: dict[str, Share]
    """Of the parts, by name."""
    weights: dict[str, float]
    """What these come to in the mean; 0 of parts that are never asked."""
    calibrations: dict[str, Calibration]
    whole: Calibration
    correction: Correction | None
    """Of the first part, where it makes the blend better."""
    judged: dict[str, Judged]


class Answers(NamedTuple):
    """What one part says to all questions, or to some."""

    mixture: NormalMixture
    scores: Float[np.ndarray, "question time observed"]
    """How far from its middle each value lies."""

    @classmethod
    def of(cls, folds: OutOfFold, mixture: NormalMixture) -> "Answers":
        """Such a mixture, compared with the values."""
        return cls(mixture, folds.scores(mixture))

    def only(self, questions: Bool[np.ndarray, " question"]) -> "Answers":
        """To some of the questions."""
        means, scales = (np.asarray(part) for part in (self.mixture.means, self.mixture.scales))
        return Answers(NormalMixture(means[questions], scales[questions]), self.scores[questions])


class Mixing(NamedTuple):
    """What is learnt of parts: how wide each must be, and how much of the whole it has."""

    calibrations: list[Calibration]
    shares: list[Share]

    @classmethod
    def of(cls, folds: OutOfFold, parts: Sequence[Answers]) -> "Mixing":
        """From the answers of each part."""
        own = [folds.calibrate(part.scores, certain=True) for part in parts]
        calibrated = [folds.calibrated(p.mixture, c) for p, c in zip(parts, own, strict=True)]
        scores = Scores.of(calibrated, folds.values, folds.weights)
        return cls(own, fit_shares(scores, folds.shown, folds.series))

    def weights(self, folds: OutOfFold) -> Float[np.ndarray, "question part"]:
        """Of the parts, in the answer to each question."""
        return weights_at(np.stack([one.coefficients for one in self.shares]), folds.shown)

    def blended(self, folds: OutOfFold, parts: Sequence[Answers]) -> NormalMixture:
        """The answers of all parts as one, before it is as wide as it should be."""
        pairs = zip(parts, self.calibrations, strict=True)
        answers = [folds.calibrated(part.mixture, own) for part, own in pairs]
        chosen = which_part(self.weights(folds), NUM_SAMPLES, np)
        question, sample = np.arange(len(chosen))[:, None], np.arange(NUM_SAMPLES)

        def mixed(name: str):
            stacked = np.stack([np.asarray(getattr(answer, name)) for answer in answers])
            return stacked[chosen, question, sample]

        return NormalMixture(mixed("means"), mixed("scales"))


def fit_blending(
    folds: OutOfFold, networks: NormalMixture, plain: Mapping[str, NormalMixture], name: str
) -> Blending:
    """The blend that forecasts best what its parts have not seen.

    Of networks, of this name, there are answers at the points shown too: they are moved towards
    these where that makes the blend better. How wide the whole must be, whether to move, and how
    good it is are told by series that had no say in how their own answers are blended; how good it
    is also by widths in which they had none. Of the parts it is told how they did as they are.
    """

    of_plain = [Answers.of(folds, mixture) for mixture in plain.values()]

    def parts_with(correction: Correction | None) -> list[Answers]:
        return [Answers.of(folds, folds.corrected(networks, correction)), *of_plain]

    def alone(correction: Correction) -> float:
        """How good the networks are with it: enough to tell corrections apart."""
        return _Whole.of(folds, folds.corrected(networks, correction)).crps

    promising = min(CORRECTIONS, key=alone)
    (left, parts), (moved, moved_parts) = (
        (_Whole.of(folds, blended_by_others(folds, parts)), parts)
        for parts in (parts_with(None), parts_with(promising))
    )
    gains = moved.crps < left.crps
    whole, parts = (moved, moved_parts) if gains else (left, parts)
    mixing = Mixing.of(folds, parts)
    honest = widened_by_others(folds, whole.blended)
    means = np.average(mixing.weights(folds), axis=0, weights=folds.weights.sum(axis=(1, 2)))
    names = [name, *plain]
    everyone = {name: folds.corrected(networks, None), **plain, "blend": honest}
    return Blending(
        dict(zip(names, mixing.shares, strict=True)),
        dict(zip(names, means.tolist(), strict=True)),
        dict(zip(names, mixing.calibrations, strict=True)),
        whole.calibration,
        promising if gains else None,
        {part: folds.judge(some) for part, some in everyone.items()},
    )


class _Whole(NamedTuple):
    """A blend, how wide it should be, and how good it is that wide."""

    blended: NormalMixture
    calibration: Calibration
    crps: float

    @classmethod
    def of(cls, folds: OutOfFold, blended: NormalMixture) -> "_Whole":
        calibration = folds.calibrate(folds.scores(blended), certain=False)
        answers = folds.calibrated(blended, calibration)
        return cls(blended, calibration, folds.mean(answers.crps(folds.values)))


def blended_by_others(folds: OutOfFold, parts: Sequence[Answers]) -> NormalMixture:
    """The answers about each series, blended as the other series say.

    Blended as a series itself says, they are closer to it than to any new one, the more so the
    fewer series there are; widths that fit these answers are too narrow.
    """
    return _by_others(folds, parts, lambda others, own: Mixing.of(*others).blended(*own))


def widened_by_others(folds: OutOfFold, blended: NormalMixture) -> NormalMixture:
    """The answers about each series, as wide as the other series call for.

    As wide as all of them call for, nine tenths of the values lie in the 90 % interval by
    construction, whatever new series will do.
    """

    def widened(others: "_Some", own: "_Some") -> NormalMixture:
        (folds, (known,)), (asked, (answers,)) = others, own
        calibration = folds.calibrate(known.scores, certain=False)
        return asked.calibrated(answers.mixture, calibration)

    return _by_others(folds, [Answers.of(folds, blended)], widened)


_Some = tuple[OutOfFold, list[Answers]]
"""Some of the questions, and the answers of each part to these."""


def _by_others(
    folds: OutOfFold, parts: Sequence[Answers], learn: Callable[[_Some, _Some], NormalMixture]
) -> NormalMixture:
    """What is made of the answers about some series by what is learnt from those about the others;
    of a single series there is nothing else."""

    def some(questions: Bool[np.ndarray, " question"]) -> _Some:
        return folds.only(questions), [part.only(questions) for part in parts]

    means, scales = (np.array(part) for part in (parts[0].mixture.means, parts[0].mixture.scales))
    for group in _groups(folds):
        found = learn(some(~group if not group.all() else group), some(group))
        means[group], scales[group] = found.means, found.scales
    return NormalMixture(means, scales)


def _groups(folds: OutOfFold) -> Iterator[Bool[np.ndarray, " question"]]:
    """The questions about some series, and about some others, until all are there."""
    number = int(folds.series.max()) + 1
    groups = number if number <= FEW else GROUPS
    of_series = np.random.default_rng(0).permutation(number) % groups
    for group in range(groups):
        yield of_series[folds.series] == group
