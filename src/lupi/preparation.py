"""Between training and predicting: what systems teach beside weights."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi.data import Observations, RaggedTasks, Task
from lupi.distributions import NormalMixture
from lupi.inference import AbstractInference, Family, InferringPredictor, learn_family
from lupi.inference.family import some_tasks
from lupi.inference.surprise import fit_surprise
from lupi.metrics import log_likelihood
from lupi.models import AbstractProcess, Prediction
from lupi.prediction import predict_many

INFLATIONS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
"""Factors on the decoder's scale, where an observation is compared with a trajectory, among which
held-out series choose."""

NOISES = tuple(1.15 ** np.arange(-12.0, 13.0))
"""The same for the scale of predictions."""

FEW = 8
"""Held-out series that are trusted half as much as very many."""

USUAL = (3, 10)
"""Points of the contexts by which they choose."""

SIZES = (1, 2, 3, 5, 8, 12, 20)
"""Of contexts for which it is learnt how hard systems of the family are to explain."""

CONTEXTS, HIDDEN = 96, 24
"""Contexts that are looked at, of the usual sizes and of each one; and points that each of them is
asked for."""

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
    family = learn_family(process, training) if inference.needs_family else None
    if family is None:
        return None
    seen = some_tasks(held_out, CONTEXTS, 0).observations
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))

    def predict(contexts: Observations, times: np.ndarray, inflation: float) -> Prediction:
        predictor = InferringPredictor(
            process=process, inference=inference, family=_inflated(family, inflation)
        )  # pyright: ignore[reportCallIssue]
        return predict_many(predictor, contexts, times, num_samples=NUM_SAMPLES, keys=key)

    contexts, hidden = _questions(seen, *USUAL, rng)
    found = []
    for inflation in INFLATIONS:
        prediction = predict(contexts, hidden.ts, inflation)
        found += [(_score(prediction, hidden, noise), inflation, noise) for noise in NOISES]
    _, best, noise = max(found)
    # Few series say little of the noise.
    noise = noise ** (len(seen.ts) / (len(seen.ts) + FEW))

    longest = int(seen.mask.sum(axis=1).max())
    sizes = np.array([size for size in SIZES if size <= longest])
    evidence = []
    for size in sizes:
        contexts, hidden = _questions(seen, int(size), int(size), rng)
        findings = predict(contexts, hidden.ts, best).findings
        assert findings is not None  # there is a family
        evidence.append(np.asarray(findings.log_evidence))
    return eqx.tree_at(
        lambda family: (family.surprise, family.noise),
        _inflated(family, best),
        (fit_surprise(sizes, np.stack(evidence)), np.float32(noise)),
        is_leaf=lambda leaf: leaf is None,
    )


def _inflated(family: Family, inflation: float) -> Family:
    return eqx.tree_at(lambda family: family.inflation, family, np.float32(inflation))


def _score(prediction: Prediction, hidden: Observations, noise: float) -> float:
    """The mean log-likelihood of hidden values, with a factor on the scale of predictions."""
    mixture = NormalMixture(prediction.means, noise * prediction.scales)
    known = np.broadcast_to(hidden.known, hidden.ys.shape)
    found = np.nanmean(log_likelihood(mixture, hidden.ys, known))
    return float(found) if np.isfinite(found) else -np.inf


def _questions(
    seen: Observations, smallest: int, largest: int, rng: np.random.Generator
) -> tuple[Observations, Observations]:
    """Contexts of random series, each of random points, and other points of the same series.

    Of few series each is taken several times.
    """
    lengths = seen.mask.sum(axis=1)
    enough = np.flatnonzero(lengths >= min(smallest, lengths.max()))
    series = np.resize(rng.permutation(enough), CONTEXTS)
    room = max(SIZES)
    points, real = (
        np.zeros((CONTEXTS, room + HIDDEN), int),
        np.zeros((CONTEXTS, room + HIDDEN), bool),
    )
    for i, one in enumerate(series):
        size = min(int(rng.integers(smallest, largest, endpoint=True)), int(lengths[one]))
        order = rng.permutation(np.flatnonzero(seen.mask[one]))
        others = order[size : size + HIDDEN]
        points[i, :size], real[i, :size] = order[:size], True
        points[i, room : room + len(others)] = others
        real[i, room : room + len(others)] = True

    def taken(some: slice) -> Observations:
        rows, columns = series[:, None], points[:, some]
        gaps = None if seen.gaps is None else seen.gaps[rows, columns]
        return Observations(seen.ts[rows, columns], seen.ys[rows, columns], real[:, some], gaps)

    return taken(slice(room)), taken(slice(room, None))
