"""What a predictor answers to a question, in memory that does not grow with it."""

from collections import defaultdict
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi._machinery.compilation import padded_size
from lupi._machinery.environment import num_threads
from lupi._machinery.memory import check_memory
from lupi.data import Task
from lupi.data.normalisation import Normalisation, to_tasks
from lupi.data.series_table import original_times
from lupi.distributions import NormalMixture
from lupi.errors import UserError
from lupi.forecasting.questions import Question, thinned
from lupi.forecasting.refusals import refusal
from lupi.models import AbstractPredictor, Findings
from lupi.prediction import (
    SMALLEST_CONTEXT,
    SMALLEST_SAMPLES,
    SMALLEST_TIMES,
    as_keys,
    first_samples,
    horizon_of,
    predict_in_parts,
)

NUMBERS_AT_ONCE = 2**18
"""Samples, or observations, times times, of one series that are computed together; of more times
some after the others."""

SAMPLES_AT_ONCE = 2**14
"""Of one series; of more some after the others, each part with random numbers of its own. To solve
their trajectories takes all but a hundredth of the time, the search for what explains the
observations, once for each part, the rest."""

FEWEST_TIMES = 16
"""That are computed together, however many samples there are."""

BYTES_KEPT, BYTES_AT_WORK = 32, 160
"""Of each number of a forecast, with what is computed from it later, and of each that is computed
at the same time; as measured."""

RUNAWAY = 1_000.0
"""Standard deviations of the training data from its mean: a forecast beyond is none."""


class Answer(NamedTuple):
    """Forecasts of all series, one after the other, in the model's units."""

    mixture: NormalMixture
    findings: dict[int, Findings]
    """Of each series, where there are any."""
    noise_key: PRNGKeyArray


class _Some(NamedTuple):
    """A series, some of its times, and some of its samples."""

    series: int
    times: slice
    samples: slice


def answer_question(
    predictor: AbstractPredictor,
    question: Question,
    normalisation: Normalisation,
    num_samples: int,
    seed: int,
) -> Answer:
    """The forecasts of all series.

    Series of similar sizes are computed together, in batches of few sizes: nothing is compiled
    for another number of series, observations, times or samples.
    """
    tasks = to_tasks(thinned(question.table), normalisation, question.origins)
    wanted = [
        normalisation.to_model_times(times, origin).astype(np.float32)
        for times, origin in zip(question.times, question.origins, strict=True)
    ]
    size = len(question.table.columns.observed)
    drawn = padded_size(min(num_samples, SAMPLES_AT_ONCE), SMALLEST_SAMPLES)
    starts = range(0, num_samples, drawn)
    some_samples = [slice(start, min(start + drawn, num_samples)) for start in starts]
    # Of many samples more times together: each part of the times solves all trajectories anew.
    most_numbers = NUMBERS_AT_ONCE if len(starts) == 1 else drawn * size * SMALLEST_TIMES
    fewest_times = SMALLEST_TIMES if len(starts) == 1 else FEWEST_TIMES
    ends = np.cumsum([len(times) for times in wanted])
    check_memory(
        size * BYTES_KEPT * num_samples * int(ends[-1])
        + BYTES_AT_WORK * max(size * drawn * FEWEST_TIMES, most_numbers),
        f"a forecast of {num_samples:,} samples at {ends[-1]:,} times",
        "ask for fewer samples, or for fewer series or times in one call",
    )
    groups: dict[tuple[int, int, int], list[_Some]] = defaultdict(list)
    for i, (length, times) in enumerate(zip(tasks.lengths.tolist(), wanted, strict=True)):
        room, horizon = padded_size(length, SMALLEST_CONTEXT), horizon_of(np.maximum(times, 0.0))
        fitting = most_numbers // (size * max(drawn, room))
        at_once = max(FEWEST_TIMES, 1 << max(fitting, 1).bit_length() - 1)
        # The last of several parts has as much room as the others: nothing is compiled for it.
        number = min(at_once, padded_size(len(times), fewest_times))
        for start in range(0, len(times), at_once):
            some = slice(start, min(start + at_once, len(times)))
            groups[room, number, horizon] += [_Some(i, some, part) for part in some_samples]

    shape = (num_samples, int(ends[-1]), size)
    means, scales = np.empty(shape, np.float32), np.empty(shape, np.float32)
    # The same random numbers for every series: none depends on what stands beside it.
    key = jax.random.key(seed)
    keys = [key, *(jax.random.fold_in(key, part) for part in range(1, len(starts)))]
    key_data = np.stack([np.asarray(jax.random.key_data(one)) for one in keys])
    noise_of = key_data[0]
    findings: dict[int, dict[int, Findings]] = defaultdict(dict)
    for (length, num_times, horizon), members in groups.items():
        chosen = np.array([some.series for some in members])
        padded = np.zeros((len(chosen), num_times), np.float32)
        for row, some in zip(padded, members, strict=True):
            row[: some.times.stop - some.times.start] = wanted[some.series][some.times]
        taken = tasks.take(chosen, length=length, rng=np.random.default_rng(0))
        known = question.privileged
        if known is not None:
            values = normalisation.to_model_privileged(known[chosen]).astype(np.float32)
            taken = Task(taken.observations, values)
        parts = predict_in_parts(
            predictor,
            taken.observations if known is None else taken,
            padded,
            num_samples=drawn,
            horizon=horizon,
            threads=num_threads(),
            keys=as_keys(key_data[[some.samples.start // drawn for some in members]]),
        )
        following = iter(members)
        for part in parts:
            # Of as many samples as there are of most series, at once: one by one it takes longer
            # than the rest of this loop.
            leaves, structure = jax.tree.flatten(first_samples(part.findings, num_samples))
            for place, (mean, scale) in enumerate(zip(part.means, part.scales, strict=True)):
                i, times, samples = next(following)
                number = samples.stop - samples.start
                if samples.start == 0:
                    noise_of = part.key_data[place]
                if leaves:
                    found = jax.tree.unflatten(structure, [leaf[place] for leaf in leaves])
                    findings[i][samples.start] = found
                begin, length = ends[i] - len(wanted[i]), times.stop - times.start
                rows = slice(begin + times.start, begin + times.stop)
                means[samples, rows] = mean[:number, :length]
                scales[samples, rows] = scale[:number, :length]
    joined = {i: _joined(list(some.values()), num_samples) for i, some in findings.items()}
    return Answer(NormalMixture(means, scales), joined, as_keys(noise_of))


def _joined(found: list[Findings], num_samples: int) -> Findings:
    """What several parts of the samples of one series found, as one: all of their values, and the
    mean of what each of them says of the series."""
    first = found[0]
    if len(found) == 1:
        return first
    values = None
    if first.privileged is not None:
        each = [one.privileged for one in found]
        values = jax.tree.map(lambda *leaves: np.concatenate(leaves)[:num_samples], *each)
    names = ("log_evidence", "surprise", "effective_share")
    means = (np.array([getattr(one, name) for one in found]).mean(axis=0) for name in names)
    return Findings(values, *map(np.asarray, means))


def without_runaways(question: Question, answer: Answer) -> tuple[Question, Answer]:
    """Both without series whose forecast is not finite, or far from all that was ever seen: they
    are refused, each with the reason. If all are, that is an error."""
    table, mixture = question.table, answer.mixture
    ends = np.cumsum([0, *(len(times) for times in question.times)])
    reasons = {}
    for i, times in enumerate(question.times):
        rows = slice(*ends[i : i + 2])
        means, scales = (np.asarray(part)[:, rows] for part in (mixture.means, mixture.scales))
        with np.errstate(over="ignore", invalid="ignore"):
            good = np.isfinite(scales).all(axis=0) & (np.abs(means.mean(axis=0)) <= RUNAWAY)
        if not good.all():
            lost = times[~good.all(axis=1)].min()
            when = original_times(table.columns, np.array([lost]))[0]
            reasons[i] = (
                f"cannot be forecast: what the model says runs away, at {when} and perhaps later, "
                "beyond any number that was seen in training: ask for times before."
            )
    if not reasons:
        return question, answer
    labels = table.labels.tolist()
    if len(reasons) == len(table):
        raise UserError(refusal(table.columns, labels[0], reasons[0]))
    kept = np.array([i for i in range(len(table)) if i not in reasons])
    rows = np.concatenate([np.arange(*ends[i : i + 2]) for i in kept.tolist()])
    left = Question(
        table[kept],
        question.origins[kept],
        [question.times[i] for i in kept.tolist()],
        None if question.privileged is None else question.privileged[kept],
        {**question.refused, **{labels[i]: reason for i, reason in reasons.items()}},
        question.unlike,
    )
    findings = {
        place: answer.findings[i] for place, i in enumerate(kept.tolist()) if i in answer.findings
    }
    means, scales = (np.asarray(part)[:, rows] for part in (mixture.means, mixture.scales))
    return left, Answer(NormalMixture(means, scales), findings, answer.noise_key)
