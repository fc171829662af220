"""From a few observations to a distribution over the whole trajectory, of one system or many."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key, PRNGKeyArray

from lupi._machinery.compilation import compiled, is_traced, padded_size
from lupi.data import Observations, Task
from lupi.distributions import AnyArray
from lupi.errors import UserError, check_whole
from lupi.models import AbstractPredictor, AbstractProcess, Findings, Prediction

SMALLEST_CONTEXT, SMALLEST_TIMES, SMALLEST_SAMPLES = 16, 128, 64
"""Sizes that `predict` computes at least; from there on it goes in powers of two."""

SERIES_AT_ONCE = (2, 16)
"""Numbers of series that one compiled call may take; fewer than it may take cost nothing, and more
are taken in several calls. A program for 1 would be another one, whose results differ in their last
bits."""

MANY_AT_ONCE = (2, 128)
"""The same for `predict_many`, where all the systems are there from the beginning."""

SIDE_BY_SIDE = 8
"""Series that are computed together where rounding may depend on it: a fifth sooner each."""

NUMBERS_AT_ONCE = 2**25
"""Of what is computed at a time, at most, unless a single series has more."""

PARTS_EACH = 4
"""That a thread computes before all wait for the slowest: some series take longer than others."""

TIMES_ASKED = 48
"""At which series that were left out are asked for, by whoever learns from them: of one number, one
compiled program does for all."""

WORTH_OPTIMISING = 4_000
"""Trajectories from which on predicting is compiled to run fast, not to be ready soon."""

_TURN = threading.RLock()
"""Of whoever predicts. A predictor may call LAPACK, and on batches of matrices its calls wait for
threads of XLA's, on which they run themselves: two at a time wait for each other for ever."""


def predict(
    predictor: AbstractPredictor,
    context: Observations,
    times: Float[AnyArray, " time"],
    *,
    num_samples: int = 32,
    key: PRNGKeyArray,
) -> Prediction:
    """Predict the system behind `context` at `times`, in any order, from 0 on.

    Nothing but observations goes in: privileged information has no way here. Without any (an empty
    context) it is what the predictor believes of the whole family. A process predicts with its
    encoder alone; `InferringPredictor` joins it with another inference. For many systems at once,
    map over them: `jax.vmap(lambda context, key: predict(process, context, times, key=key))`.
    Where `times` are traced, by jit or vmap, those beyond 1 are solved with longer steps.

    The first call compiles for some seconds, later ones take milliseconds. Points, times and
    samples are padded to the next power of two, at least 16, 128 and 64: only beyond these is
    something compiled again.
    """
    check_context(predictor, context)
    num_samples = check_whole("num_samples", num_samples, least=2)
    horizon = horizon_of(times)
    if is_traced((predictor, context, times, key)):
        ts = jnp.asarray(times, float)
        return predictor.predict(context, ts, num_samples=num_samples, horizon=horizon, key=key)
    # Padded to a few sizes, so that another number of points, times or samples compiles nothing;
    # NumPy, because jax.numpy would compile the padding itself for every size.
    ts = np.asarray(times, np.float32)
    with jax.ensure_compile_time_eval():  # also where a traced function closes over everything
        (prediction,) = predict_in_parts(
            predictor,
            _padded(context),
            pad(ts, SMALLEST_TIMES)[None],
            num_samples=padded_size(num_samples, SMALLEST_SAMPLES),
            horizon=horizon,
            keys=key,
        )
        noise_key = as_keys(prediction.key_data[0])
    means, scales = (
        part[0, :num_samples, : len(ts)] for part in (prediction.means, prediction.scales)
    )
    findings = first_samples(prediction.findings, num_samples)
    return Prediction(ts, means, scales, noise_key, jax.tree.map(lambda leaf: leaf[0], findings))


def _padded(context: Observations) -> Observations:
    """One of many contexts, and the only one."""
    padded = context.map_points(lambda leaf: pad(np.asarray(leaf), SMALLEST_CONTEXT))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], padded)


class Part(NamedTuple):
    """Predictions of some of many series, as NumPy arrays."""

    ts: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    key_data: np.ndarray
    """Of the noise of each series; any operation on keys would be compiled for every number."""
    findings: Findings | None


def first_samples(findings: Findings | None, number: int) -> Findings | None:
    """Findings of many series, of some of the samples."""
    if findings is None or findings.privileged is None:
        return findings
    fewer = jax.tree.map(lambda leaf: leaf[:, :number], findings.privileged)
    return Findings(fewer, findings.log_evidence, findings.surprise, findings.effective_share)


def as_keys(key_data: np.ndarray) -> Key[Array, "*series"]:
    """The keys that these numbers stand for."""
    return jax.random.wrap_key_data(jax.device_put(key_data))


def predict_many(
    predictor: AbstractPredictor,
    contexts: Observations | Task,
    times: Float[AnyArray, "series time"],
    *,
    num_samples: int,
    horizon: int = 1,
    brief: bool | None = None,
    threads: int = 1,
    keys: Key[Array, "*series"],
) -> Prediction:
    """What `predict` gives for each of many systems, up to rounding and without its padding.

    It is compiled for the sizes that arrive, but for the number of systems; to be ready soon or to
    run fast, whichever is over sooner, unless the caller knows whether it will be `brief`. One key
    serves all alike. With privileged values (a `Task`) an `InferringPredictor` makes use of them.
    More than one thread is for predictors that do not call LAPACK, and changes no number.
    """
    together = SIDE_BY_SIDE if predictor.takes_as_long_for_all else 1
    arguments, sizes = (_without_room(contexts), times, keys), (num_samples, horizon, together)
    return _joined(_each(_from_context, predictor, arguments, sizes, brief=brief, threads=threads))


def _without_room(contexts: Observations | Task) -> Observations | Task:
    """The same, with less room for points that are not there: it takes as long as points do."""
    seen = contexts.observations if isinstance(contexts, Task) else contexts
    mask = np.asarray(seen.mask)
    room = padded_size(int(mask.sum(axis=1).max(initial=0)), SMALLEST_CONTEXT)
    if room >= mask.shape[1]:
        return contexts
    series, first = np.arange(len(mask))[:, None], np.argsort(~mask, axis=1, kind="stable")
    seen = seen.map_points(lambda leaf: np.asarray(leaf)[series, first[:, :room]])
    return Task(seen, contexts.privileged) if isinstance(contexts, Task) else seen


def predict_in_parts(
    predictor: AbstractPredictor,
    contexts: Observations | Task,
    times: Float[AnyArray, "series time"],
    *,
    num_samples: int,
    horizon: int = 1,
    threads: int = 1,
    keys: Key[Array, "*series"],
) -> Iterator[Part]:
    """The same, some systems after the others, for more than memory holds; compiled to run fast.

    Each prediction is the same to the last bit, whatever systems stand beside it, and however many
    threads compute them: more than one where the predictor does not call LAPACK.
    """
    arguments, sizes = (contexts, times, keys), (num_samples, horizon, 1)
    return _each(_from_context, predictor, arguments, sizes, brief=False, threads=threads)


def predict_in_training(
    process: AbstractProcess,
    tasks: Task,
    times: Float[AnyArray, "series time"],
    *,
    num_samples: int,
    horizon: int = 1,
    keys: Key[Array, "*series"],
) -> Prediction:
    """Predict each of many systems as training sees it: from all that is known of it.

    All of its observations and, if the process can make use of it, its privileged information.
    """
    arguments, sizes = (tasks, times, keys), (num_samples, horizon, SIDE_BY_SIDE)
    return _joined(_each(_from_all_that_is_known, process, arguments, sizes))


def _from_context(predictor, context, times, key, num_samples: int, horizon: int) -> Prediction:
    how: dict[str, Any] = {"num_samples": num_samples, "horizon": horizon, "key": key}
    if isinstance(context, Task):
        how["privileged"], context = context.privileged, context.observations
    return predictor.predict(context, times, **how)


def _from_all_that_is_known(process, task, times, key, num_samples: int, horizon: int):
    code = process.encode(task.observations, task.privileged)
    return process.predict_from_code(code, times, num_samples=num_samples, horizon=horizon, key=key)


def _each(
    function: Callable,
    predictor,
    arguments,
    sizes: tuple[int, int, int],
    *,
    brief: bool | None = None,
    threads: int = 1,
) -> Iterator[Part]:
    """A function of each series, some of them in one compiled call, and a call on each thread.

    `sizes`: samples, horizon, and how many series are computed side by side. What is compiled, and
    with it the last bit of each result, does not depend on the number of threads.
    """
    *parts, times, keys = arguments
    number, num_times = times.shape
    numbers_of_one = sizes[0] * num_times * predictor.observation_size
    possible = SERIES_AT_ONCE
    if sizes[2] > 1 and MANY_AT_ONCE[1] * numbers_of_one <= NUMBERS_AT_ONCE:
        possible = MANY_AT_ONCE
    fitting = [n for n in possible if n * numbers_of_one <= NUMBERS_AT_ONCE]
    at_once = min((n for n in fitting if n >= number), default=max(fitting, default=1))
    sizes = (*sizes[:2], math.gcd(at_once, sizes[2]))
    brief = number * sizes[0] < WORTH_OPTIMISING if brief is None else brief
    run = compiled(_loop_over_series, brief=brief)
    key_data = np.asarray(jax.random.key_data(keys))
    key_data = np.broadcast_to(key_data, (number, key_data.shape[-1]))
    arrays = (*jax.tree.map(np.asarray, (*parts, times)), key_data)

    def part(start: int, count: int) -> Part:
        some = jax.tree.map(lambda leaf: _filled(leaf[start : start + count], at_once), arrays)
        turns = np.array(math.ceil(count / sizes[2]), np.int32)
        results = run(function, predictor, some, sizes, turns)
        found = jax.tree.map(lambda leaf: np.asarray(leaf)[:count], results)
        return Part(some[-2][:count], *found)

    fitting_parts = NUMBERS_AT_ONCE // (at_once * numbers_of_one)
    threads = max(1, min(threads, fitting_parts))
    together = min(PARTS_EACH * threads, fitting_parts) if threads > 1 else 1
    # Even shares for all threads, of whole turns.
    share = sizes[2] * math.ceil(number / (threads * sizes[2]))
    length = max(1, min(at_once, share))
    places = [(i, min(length, number - i)) for i in range(0, number, length)]
    return _in_order(part, places, threads, together)


def _in_order(
    part: Callable[[int, int], Part], places: list[tuple[int, int]], threads: int, together: int
) -> Iterator[Part]:
    """Parts of series, on so many threads, and given in their order, so many together."""
    if len(places) > 1 and threads > 1:
        with _TURN:
            part(0, 0)  # compiles what is not compiled yet, which each thread would do for itself
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(places), together):
            some = places[start : start + together]
            with _TURN:  # a thread is not worth starting for one of them
                run = map if len(some) == 1 else pool.map
                found = list(run(lambda place: part(*place), some))
            yield from found


def _joined(parts: Iterable[Part]) -> Prediction:
    """Predictions of several sets of series as one."""
    parts = list(parts)
    if len(parts) == 1:  # a copy would take a tenth of the time of predicting
        (whole,) = parts
    else:
        whole = jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
    return Prediction(whole.ts, whole.means, whole.scales, as_keys(whole.key_data), whole.findings)


def _loop_over_series(function, predictor, arrays, sizes: tuple[int, int, int], turns):
    """One series, or a few side by side, after another.

    The number of turns is not known when this is compiled. So it is the same program whatever the
    number of series, down to the last bit of its results.
    """
    num_samples, horizon, together = sizes

    def one(*arguments):
        *parts, times, key_data = arguments
        key = jax.random.wrap_key_data(key_data)
        prediction = function(predictor, *parts, times, key, num_samples, horizon)
        key_data = jax.random.key_data(prediction.key)
        return prediction.means, prediction.scales, key_data, prediction.findings

    def some(i):
        if together == 1:
            results = one(*jax.tree.map(lambda leaf: leaf[i], arrays))
            return jax.tree.map(lambda leaf: leaf[None], results)
        start = i * together
        cut = lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, together)  # noqa: E731
        return jax.vmap(one)(*jax.tree.map(cut, arrays))

    def turn(i, results):
        put = jax.lax.dynamic_update_slice_in_dim
        return jax.tree.map(lambda all_, new: put(all_, new, i * together, 0), results, some(i))

    shapes = jax.eval_shape(some, 0)
    empty = jax.tree.map(
        lambda shape: jnp.zeros((len(arrays[-1]), *shape.shape[1:]), shape.dtype), shapes
    )
    return jax.lax.fori_loop(0, turns, turn, empty)


def _filled(values: np.ndarray, number: int) -> np.ndarray:
    """So many entries: those there are, and then zeros."""
    missing = number - len(values)
    return np.concatenate([values, np.zeros((missing, *values.shape[1:]), values.dtype)])


def pad(values: np.ndarray, smallest: int) -> np.ndarray:
    """Zeros up to the next power of two, or to `smallest`."""
    return _filled(values, padded_size(len(values), smallest))


def horizon_of(times: Any) -> int:
    """A whole number, one of few, that none of the times lies beyond."""
    if isinstance(times, Tracer):
        return 1  # the usual span; the last time is not known here
    values = np.asarray(times)
    if values.size == 0 or not (np.isfinite(values) & (values >= 0)).all():
        raise UserError(
            "times must be one or more finite numbers from 0 on, in the unit the process was "
            "trained in: its trajectories start at time 0."
        )
    return padded_size(max(1, math.ceil(values.max())), 1)


def check_context(predictor: AbstractPredictor, context: Observations) -> None:
    """Raise unless it is a context of one system, of the quantities that the predictor knows."""
    if context.ts.ndim != 1:
        raise UserError(
            f"the context holds {context.ts.shape[0]} systems, predict takes one: map over them "
            "with jax.vmap, or pick one."
        )
    expected, arrived = predictor.observation_size, context.ys.shape[-1]
    if arrived != expected:
        raise UserError(
            f"the context observes {arrived} quantities, the process was built for {expected}: "
            "give the quantities it was trained on, or build another process."
        )
    if is_traced(context):
        return  # inside jit or vmap values cannot be looked at
    # NumPy: jax.numpy would be traced even where its arguments are not.
    if not all(np.isfinite(np.asarray(values)).all() for values in (context.ts, context.ys)):
        raise UserError(
            "the context holds values that are not finite numbers: remove those points, or mask "
            "them and put any number in their place."
        )
