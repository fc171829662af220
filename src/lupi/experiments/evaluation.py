"""A trained process, judged on systems it has not seen."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.compilation import compiled
from lupi.data import Observations, SizeRange, Task, draw_context
from lupi.distributions import Normal
from lupi.experiments.settings import EvaluationSettings
from lupi.metrics import (
    Estimate,
    calibration_error,
    coverage,
    crps,
    estimate,
    log_likelihood,
    mean_squared_error,
    mixture_pit,
    normal_pit,
    pooled_calibration_error,
    pooled_calibration_error_stderr,
    sharpness,
    sharpness_variance,
)
from lupi.models import NeuralODEProcess
from lupi.prediction import predict_from_latent

SYSTEMS_AT_ONCE = 20
"""Predicted in one batch: enough to fill the vector units, small enough for the cache."""

WORTH_OPTIMISING = 4_000
"""Trajectories from which on predicting is compiled to run fast, not to be ready soon."""


class Evaluation(NamedTuple):
    """How a process did on a set of systems, and what it said of each of them."""

    metrics: dict[str, Estimate]
    arrays: dict[str, np.ndarray]
    """`mean`, `std` and `pit` of the paper's predictive distribution, at every point."""


def draw_contexts(tasks: Task, settings: EvaluationSettings, *, key: PRNGKeyArray) -> Observations:
    """A random context for each of the tasks."""
    return compiled(_draw_contexts, brief=True)(tasks.observations, settings.context_sizes, key)


def _draw_contexts(observations: Observations, sizes: SizeRange, key) -> Observations:
    keys = jax.random.split(key, len(observations.ts))
    return jax.vmap(lambda o, k: draw_context(o, sizes=sizes, key=k))(observations, keys)


def evaluate(
    process: NeuralODEProcess,
    tasks: Task,
    contexts: Observations,
    settings: EvaluationSettings,
    *,
    key: PRNGKeyArray,
) -> dict[str, Evaluation]:
    """Judge a process in both settings of Table 1: `test` and `train`.

    In `test` it sees the contexts; in `train`, the starred rows, all of each task and, if it can
    use it, its privileged information.
    """
    brief = len(tasks) * settings.num_samples < WORTH_OPTIMISING
    latents = compiled(_infer_all, brief=True)(process, tasks, contexts)
    times, ys = tasks.observations.ts, tasks.observations.ys
    evaluations = {}
    for mode, latent in latents.items():
        means, scales = decode_all(
            process, latent, times, num_samples=settings.num_samples, key=key
        )
        per_system, pooled, arrays = compiled(_measure, brief=brief)(means, scales, ys)
        metrics = {name: estimate(values) for name, values in jax.device_get(per_system).items()}
        metrics |= {name: Estimate(*map(float, values)) for name, values in pooled.items()}
        evaluations[mode] = Evaluation(metrics, jax.device_get(arrays))
    return evaluations


def decode_all(
    process: NeuralODEProcess,
    latents: Normal,
    times: Float[Array, "system time"],
    *,
    num_samples: int,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "system sample time observation"], ...]:
    """Decoded means and scales for samples of z, of many systems at once."""
    # Without its privileged parts a LUPI model is of the same kind as a NoPI model, and one
    # compiled function serves both.
    process = process.without_privileged()
    brief = len(times) * num_samples < WORTH_OPTIMISING
    return compiled(_decode_all, brief=brief)(process, latents, times, num_samples, key)


def _infer_all(process, tasks: Task, contexts: Observations) -> dict[str, Normal]:
    return {
        "test": jax.vmap(process.infer)(contexts),
        "train": jax.vmap(process.infer_in_training)(tasks.observations, tasks.privileged),
    }


def _decode_all(process, latents: Normal, times, num_samples: int, key):
    def one(arguments):
        mean, scale, ts, key = arguments
        latent = Normal(mean, scale)
        prediction = predict_from_latent(process, latent, ts, num_samples=num_samples, key=key)
        # Not its `samples`: drawing their noise would take as long as all the rest.
        return prediction.decoded_means, prediction.decoded_scales

    keys = jax.random.split(key, len(times))
    arguments = (latents.loc, latents.scale, times, keys)
    return jax.lax.map(one, arguments, batch_size=SYSTEMS_AT_ONCE)


def _measure(means, scales, ys):
    mean, std = means.mean(axis=1), means.std(axis=1, ddof=1)
    pit = normal_pit(mean, std, ys)
    full_pit = mixture_pit(means, scales, ys)
    per_system = {
        "mse": mean_squared_error(mean, ys),
        "calibration_error": calibration_error(pit),
        "sharpness": sharpness(std),
        "sharpness_variance": sharpness_variance(std),
        "log_likelihood": log_likelihood(means, scales, ys),
        # In batches: the closed form compares all pairs of samples of z.
        "crps": jax.lax.map(lambda x: crps(*x), (means, scales, ys), batch_size=SYSTEMS_AT_ONCE),
    }
    for percent in (50, 90, 95):
        per_system[f"coverage_{percent}"] = coverage(full_pit, level=percent / 100)
    pooled = {
        "calibration_error_pooled": (
            pooled_calibration_error(pit),
            pooled_calibration_error_stderr(pit),
        )
    }
    return per_system, pooled, {"mean": mean, "std": std, "pit": pit}
