"""Between training and predicting: what systems teach beside weights."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from lupi._machinery.environment import num_threads
from lupi.data import Observations, RaggedTasks, Task
from lupi.data.between import with_points_between
from lupi.distributions import NormalMixture
from lupi.inference import AbstractInference, Family, InferringPredictor, Trust
from lupi.inference.family import learn_families, some_tasks
from lupi.inference.surprise import Surprise, fit_surprise
from lupi.inference.trust import Course, Gathering, gathered
from lupi.models import AbstractProcess, Prediction
from lupi.prediction import TIMES_ASKED, predict_many

SIZES = (1, 2, 4, 8, 20)
"""Of contexts, for which it is learnt how far the model is to be trusted."""

ROUGH_SIZES = (1, 4, 16)
"""The same, where it need not be known well."""

USUAL = 8
"""The one by which it is learnt what trajectories do not tell of privileged values; of shorter
series the longest there is."""

INFLATIONS = tuple(1.4 ** np.arange(-3.0, 8.0))
"""Factors on the decoder's scale, where an observation is compared with a trajectory, among which
held-out series choose."""

NOISES = tuple(1.15 ** np.arange(-16.0, 17.0))
"""The same for the scale of predictions, and for that of privileged values."""

NODES, SWEEPS = 4, 2
"""Times at which a factor on the scale of predictions is learnt, one after the other, so often."""

STRAY = 0.02
"""The chance that a system is taken for another altogether, as from one point it may be: no width
makes up for that, and the widths of all others must not be chosen by it."""

FEW = 8
"""Held-out series that are trusted half as much as very many."""

COVERED, MOST_COVERED, NORMAL = 0.9, 0.95, 1.6449
"""The share of privileged values, over all numbers of points, by which their widths are told; the
most that is asked for of few systems; and how far that share of a Normal distribution reaches."""

CONTEXTS, HIDDEN = 96, 16
"""Contexts of each size that are looked at, and points that each of them is asked for."""

NUM_SAMPLES = 64


def prepare(
    process: AbstractProcess,
    inference: AbstractInference,
    training: Task | RaggedTasks,
    held_out: Task | RaggedTasks,
    *,
    key: PRNGKeyArray,
) -> Family | None:
    """What is known of the family of systems that a process was trained on.

    From the systems it was trained on, where their z lie and how privileged values follow; from
    others, held out, how far its trajectories can be trusted, and how hard they are to explain.
    A process without a latent has no family, and the encoder alone needs none.
    """
    (family,) = prepare_together([process], inference, [training], [held_out], key=key)
    return family


def prepare_together(
    processes: Sequence[AbstractProcess],
    inference: AbstractInference,
    training: Sequence[Task | RaggedTasks],
    held_out: Sequence[Task | RaggedTasks],
    *,
    roughly: bool = False,
    key: PRNGKeyArray,
) -> list[Family | None]:
    """The same of several processes of one kind, each with systems that it was not trained on.

    What these teach of trust and surprise is learnt from all of them, for all of them. `roughly`
    looks at fewer, for those who calibrate what is predicted in another way.
    """
    if not inference.needs_family:
        return [None] * len(processes)
    families = learn_families(processes, training)
    if families is None:
        return [None] * len(processes)
    number = CONTEXTS // len(processes) // (2 if roughly else 1)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    # A network that is exact at times that all series share may bend between them: there it must be
    # asked, and see contexts. Half of them at the shared times made 90 % intervals cover 88 % of
    # damping at other times. Who calibrates once more asks at the times of the series.
    seen = [
        with_points_between(some_tasks(tasks, number, 0), rng=rng, instead=not roughly)
        for tasks in held_out
    ]
    # Few series say little.
    total = sum(map(len, seen))
    weight = total / (total + FEW)

    longest = min(int(tasks.observations.mask.sum(axis=1).max()) for tasks in seen)
    sizes = [size for size in (ROUGH_SIZES if roughly else SIZES) if size <= longest]
    # Something in its place, so that what is compiled now will do later.
    nothing = fit_surprise(np.array(sizes), np.zeros((len(sizes), 1)))
    families = [_surprised(family, nothing) for family in families]
    even = None if roughly else Course(np.ones(NODES, np.float32))
    as_they_are = Gathering(np.array(sizes, np.float32), np.ones(len(sizes), np.float32))

    def answers(questions: list[_Questions], inflation: float) -> list[_Answers]:
        found = []
        for process, family, asked in zip(processes, families, questions, strict=True):
            ones = [1.0] * len(sizes)
            shown = [inflation] * len(sizes)
            trusting = _trusting(family, sizes, shown, ones, course=even, gathering=as_they_are)
            predictor = InferringPredictor(process=process, inference=inference, family=trusting)  # pyright: ignore[reportCallIssue]
            prediction = predict_many(
                predictor,
                asked.contexts,
                np.pad(asked.hidden.ts, ((0, 0), (0, TIMES_ASKED - HIDDEN))),
                num_samples=NUM_SAMPLES,
                brief=False,
                threads=num_threads(),
                keys=key,
            )
            found.append(_Answers(asked, prediction))
        return found

    inflation, noise, found = 1.0, 1.0, []
    for size in sizes:
        questions, known = [_ask(tasks.observations, size, number, rng) for tasks in seen], {}

        def worth(candidate: float, questions=questions, known=known, noise=noise) -> float:
            known[candidate] = answers(questions, candidate)
            return max(_likelihood(known[candidate], factor) for factor in _near(noise, NOISES))

        inflation = climb(worth, INFLATIONS, inflation)
        chosen = known[inflation]
        noise = climb(partial(_likelihood, chosen), NOISES, noise)
        # That a model knows more than it says, least of all: of six series any factor below 1 may
        # be the likeliest by a hair, and makes privileged values look surer than they are.
        shown = inflation if inflation > 1 else inflation**weight
        found.append((shown, noise**weight, chosen))
    inflations, noises, chosen = zip(*found, strict=True)
    course = None if roughly else _course(chosen, noises, weight)
    value, gathering = _of_values(chosen, [tasks.privileged for tasks in seen], sizes, weight)
    evidence = np.stack(
        [np.concatenate([one.findings.log_evidence for one in answer]) for answer in chosen]
    )
    surprise = fit_surprise(np.array(sizes), evidence, num_series=total)
    return [
        _surprised(_trusting(family, sizes, inflations, noises, value, course, gathering), surprise)
        for family in families
    ]


def _surprised(family: Family, surprise: Surprise) -> Family:
    return eqx.tree_at(
        lambda family: family.surprise, family, surprise, is_leaf=lambda leaf: leaf is None
    )


def _likelihood(answers: "list[_Answers]", noise: float, course: Course | None = None) -> float:
    return float(np.mean([answer.log_likelihood(noise, course) for answer in answers]))


def climb(
    worth: Callable[[float], float], candidates: Sequence[float], start: float = 1.0
) -> float:
    """The candidate that is worth most, as far as it is uphill to it from the start all the way."""
    place = int(np.argmin(np.abs(np.log(candidates) - np.log(start))))
    here = worth(candidates[place])
    for step in (1, -1):
        before = place
        while 0 <= place + step < len(candidates):
            there = worth(candidates[place + step])
            if there <= here:
                break
            place, here = place + step, there
        if place != before:
            break
    return candidates[place]


def _near(value: float, candidates: Sequence[float]) -> list[float]:
    """Some candidates, far and near, around a value."""
    place = int(np.argmin(np.abs(np.log(candidates) - np.log(value))))
    chosen = np.clip(place + np.array([-9, -6, -3, -1, 0, 1, 3, 6, 9]), 0, len(candidates) - 1)
    return [candidates[i] for i in np.unique(chosen)]


def _trusting(
    family: Family,
    sizes,
    inflations,
    noises,
    value: float = 1.0,
    course: Course | None = None,
    gathering: Gathering | None = None,
) -> Family:
    parts = (np.asarray(part, np.float32) for part in (sizes, inflations, noises, value))
    trust = Trust(*parts, course=course, gathering=gathering)
    return eqx.tree_at(lambda family: family.trust, family, trust)


def _course(answers: "Sequence[list[_Answers]]", noises: Sequence[float], weight: float) -> Course:
    """The factors in time under which what was hidden is likeliest, for all numbers of points."""
    factors = np.ones(NODES)

    def worth(factor: float, node: int) -> float:
        course = Course(np.where(np.arange(NODES) == node, factor, factors))
        each = zip(answers, noises, strict=True)
        return float(np.mean([_likelihood(some, noise, course) for some, noise in each]))

    for _ in range(SWEEPS):
        for node in range(NODES):
            factors[node] = climb(partial(worth, node=node), NOISES, factors[node])
    return Course((factors**weight).astype(np.float32))


def _of_values(
    answers: "Sequence[list[_Answers]]",
    privileged: Sequence[np.ndarray],
    sizes: Sequence[int],
    weight: float,
) -> tuple[float, Gathering]:
    """The factors under which privileged values are forecast best: on what trajectories do not
    tell of them, and, for each number of points, on how far apart those of samples are.

    By the CRPS in units of each system's own width, as errors at the edges of a family are many
    times those within. The likeliest factors, which few large errors decide, made 90 % intervals
    cover 94 % on Lotka-Volterra (87 % on stiffness), a plain CRPS 95 %; the interval
    score makes more of chance: 84 % on stiffness. What so many factors make of few systems is too
    narrow all the same (85 % on damping), so all are then made as wide as `COVERED` of the values
    call for, of all numbers of points together.
    """

    def worth(some: "list[_Answers]", factor: float, apart: float) -> float:
        each = zip(some, privileged, strict=True)
        return _finite(-np.mean([a.crps_of_values(p, factor, apart) for a, p in each]))

    usual = int(np.argmin(np.abs(np.array(sizes) - USUAL)))
    value, apart = 1.0, np.ones(len(sizes))
    for _ in range(SWEEPS):
        value = climb(lambda v: worth(answers[usual], v, apart[usual]), NOISES, value)
        for i, some in enumerate(answers):
            apart[i] = climb(partial(worth, some, value), NOISES, apart[i])
    distances = np.concatenate(
        [
            answer.distances_of_values(known, value, factor)
            for some, factor in zip(answers, apart, strict=True)
            for answer, known in zip(some, privileged, strict=True)
        ]
    )
    wider = 1.0
    if distances.size and np.isfinite(distances).all():
        number = sum(len(np.unique(answer.questions.series)) for answer in answers[usual])
        # Of so many new systems one more is to be covered too, as far as few can tell.
        level = min(COVERED * (1 + 1 / number), MOST_COVERED)
        # Not to nothing, as of a value that is always the same.
        wider = max(float(np.quantile(distances, level)) / NORMAL, NOISES[0])
    factors = ((wider * apart) ** weight).astype(np.float32)
    return (wider * value) ** weight, Gathering(np.array(sizes, np.float32), factors)


class _Questions(NamedTuple):
    """Contexts of some size of held-out series, and other points of the same series."""

    series: Int[np.ndarray, " context"]
    contexts: Observations
    hidden: Observations


class _Answers(NamedTuple):
    """What a model says to them."""

    questions: _Questions
    prediction: Prediction

    @property
    def findings(self):
        """What was found of each system."""
        found = self.prediction.findings
        assert found is not None  # there is a family
        return found

    def log_likelihood(self, noise: float, course: Course | None = None) -> float:
        """The mean of hidden values, with factors on the scale of predictions."""
        hidden = self.questions.hidden
        factors = noise if course is None else noise * course.at(hidden.ts, np)[:, None, :, None]
        means, scales = (
            part[:, :, :HIDDEN] for part in (self.prediction.means, self.prediction.scales)
        )
        mixture = NormalMixture(means, factors * scales)
        known = np.broadcast_to(hidden.known, hidden.ys.shape)
        if not known.any():  # series so short that nothing is left to ask for
            return 0.0
        each = np.asarray(mixture.log_density(hidden.ys), float)
        any_other = -0.5 * (np.asarray(hidden.ys, float) / 2) ** 2 - np.log(2 * np.sqrt(2 * np.pi))
        number = known.sum(axis=(1, 2))
        asked = number > 0
        as_said, astray = (
            np.where(known, part, 0.0).sum(axis=(1, 2)) for part in (each, any_other)
        )
        # Of all values of a system together: it is taken for another, or none of them is.
        whole = np.logaddexp(np.log1p(-STRAY) + as_said, np.log(STRAY) + astray)
        return _finite(np.mean(whole[asked] / number[asked]))

    def crps_of_values(self, privileged: np.ndarray, factor: float, apart: float) -> float:
        """The mean CRPS of privileged values, each in units of the standard deviation that it was
        given, with factors on what trajectories do not tell of them and on how far apart those of
        samples are."""
        truth, known = self._values(privileged)
        if not known.any():
            return 0.0
        scores = np.asarray(self._forecast(factor, apart).crps(truth)) / self._forecast().std
        return float(np.mean(scores[known]))

    def distances_of_values(
        self, privileged: np.ndarray, factor: float, apart: float
    ) -> Float[np.ndarray, " value"]:
        """How far each lies from the middle, with such factors, as that of a Normal distribution
        would."""
        from scipy.special import ndtri

        truth, known = self._values(privileged)
        if not known.any():
            return np.zeros(0)
        below = np.asarray(self._forecast(factor, apart).probability_below(truth), float)[known]
        return np.abs(ndtri(np.clip(below, 1e-6, 1 - 1e-6)))

    def _values(self, privileged: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of the systems asked about, and which of them are known and forecast."""
        truth = privileged[self.questions.series]
        return truth, ~np.isnan(truth) & (self.findings.privileged is not None)

    def _forecast(self, factor: float = 1.0, apart: float = 1.0) -> NormalMixture:
        """Of privileged values, with such factors."""
        value = self.findings.privileged
        assert value is not None  # or else none counts as known
        # Samples are the second axis of findings, and the first of a mixture.
        loc, scale = (np.moveaxis(np.asarray(part), 1, 0) for part in (value.loc, value.scale))
        return NormalMixture(gathered(loc, apart, axis=0), factor * scale)


def _finite(value) -> float:
    return float(value) if np.isfinite(value) else -np.inf


def _ask(seen: Observations, size: int, number: int, rng: np.random.Generator) -> _Questions:
    """Contexts of random series, each of random points, and other points of the same series.

    Of few series each is taken several times.
    """
    lengths = seen.mask.sum(axis=1)
    series = np.resize(rng.permutation(np.flatnonzero(lengths >= size)), number)
    room = max(SIZES)
    points = np.zeros((number, room + HIDDEN), int)
    real = np.zeros(points.shape, bool)
    for i, one in enumerate(series):
        order = rng.permutation(np.flatnonzero(seen.mask[one]))
        others = order[size : size + HIDDEN]
        points[i, :size], real[i, :size] = order[:size], True
        points[i, room : room + len(others)] = others
        real[i, room : room + len(others)] = True

    def taken(some: slice) -> Observations:
        rows, columns = series[:, None], points[:, some]
        gaps = None if seen.gaps is None else seen.gaps[rows, columns]
        ts, ys = seen.ts[rows, columns], seen.ys[rows, columns]
        inputs = jax.tree.map(lambda leaf: leaf[series], seen.inputs)
        return Observations(ts, ys, real[:, some], gaps, inputs)

    return _Questions(series, taken(slice(room)), taken(slice(room, None)))
