"""A predictor, judged on systems it has not seen."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi._machinery.compilation import compiled
from lupi.data import Observations, SizeRange, Task, draw_context
from lupi.evaluation.scoring import Scores, score
from lupi.models import AbstractPredictor, AbstractProcess, Prediction
from lupi.prediction import predict_in_training, predict_many

MODES = ("test", "train")
"""The two settings of Table 1."""


class Evaluation(NamedTuple):
    """How a predictor did on a set of systems, and what it said of each of them."""

    scores: Scores
    prediction: Prediction


def draw_contexts(
    observations: Observations,
    sizes: SizeRange,
    *,
    window: tuple[float, float] = (0.0, 1.0),
    key: PRNGKeyArray,
) -> Observations:
    """A random context of each of many systems, of the points within a window of its time.

    The window is in shares of the time from 0 to a system's last point, or to 1 if that is earlier.
    """
    if window != (0.0, 1.0) or (observations.ts > 1).any():
        ends = np.where(observations.mask, observations.ts, 0.0).max(axis=1, keepdims=True)
        share = observations.ts / np.clip(ends, 1e-6, 1.0)
        inside = (share >= window[0] - 1e-6) & (share <= window[1] + 1e-6)
        observations = observations.only(inside)
    contexts = compiled(_draw_contexts, brief=True)(observations, sizes, key)
    return jax.tree.map(np.asarray, contexts)


def _draw_contexts(observations: Observations, sizes: SizeRange, key) -> Observations:
    keys = jax.random.split(key, len(observations.ts))
    return jax.vmap(lambda o, k: draw_context(o, sizes=sizes, key=k))(observations, keys)


def evaluate_tasks(
    predictor: AbstractPredictor,
    tasks: Task,
    contexts: Observations,
    *,
    num_samples: int,
    process: AbstractProcess | None = None,
    key: PRNGKeyArray,
) -> dict[str, Evaluation]:
    """Judge a predictor in the settings of Table 1: `test` and, of a process, `train`.

    In `test` it sees the contexts; in `train`, the starred rows, the process sees all of each task
    and, if it can use it, its privileged information.
    """
    seen = tasks.observations
    keys = jax.random.split(key, len(tasks))
    predictions = {
        "test": predict_many(predictor, contexts, seen.ts, num_samples=num_samples, keys=keys)
    }
    if process is not None:
        predictions["train"] = predict_in_training(
            process, tasks, seen.ts, num_samples=num_samples, keys=keys
        )
    return {
        mode: Evaluation(score(prediction, np.asarray(seen.ys), np.asarray(seen.known)), prediction)
        for mode, prediction in predictions.items()
    }
