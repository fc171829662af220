"""What is trained: an encoder to a code, and a decoder of its samples."""

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from lupi.data.observations import Observations
from lupi.data.split import Split
from lupi.distributions import AnyArray, Normal
from lupi.models.prediction import Prediction
from lupi.models.predictor import AbstractPredictor

Self = TypeVar("Self", bound="AbstractProcess")
Predictor = TypeVar("Predictor", bound=AbstractPredictor)

SAMPLES_AT_ONCE = 256
"""Samples of z decoded in one batch: all of thousands at once would take a third longer each."""


class Code(eqx.Module):
    """What a process makes of observations: all that its decoder will know of a system."""

    latent: Normal
    """The distribution of z. A process without a latent has one of size 0 (`no_latent`), so that
    its divergences are 0 and its samples empty, without a special case anywhere."""
    deterministic: PyTree[AnyArray] = ()
    """What the decoder gets as it is, whatever z: a representation, or keys and values that it
    looks up at each time it is asked for."""


class Sample(eqx.Module):
    """One possible system: a z, and the deterministic part of the code it was drawn from."""

    latent: Float[AnyArray, " latent"]
    deterministic: PyTree[AnyArray] = ()


class Lesson(NamedTuple):
    """What training learns one system from."""

    target: Code
    r"""$q(z | T, \pi)$, with whatever use is made of privileged values."""
    context: Code
    """$q'(z | C)$: what the target's is compared with, and whose deterministic part is decoded."""
    costs: dict[str, Float[Array, ""]]
    """What is to be made small beside any objective, by name: mostly nothing."""


def no_latent() -> Normal:
    """The latent of a process that has none."""
    return Normal(jnp.zeros(0), jnp.ones(0))


class AbstractProcess(AbstractPredictor):
    """A distribution over trajectories that is learnt: a predictor with an encoder and a decoder.

    A process says how it represents single points, how it summarises sets of them as a `Code`, and
    how it decodes a sample of a code. Everything else, from training to files, knows no more of it
    than that. Its other fields are its parts; their weights are what is trained.

    `key` is for parts that are random in training, such as dropout, each of which takes its own by
    name (`key_for`); without a key they are not.
    """

    observation_size: eqx.AbstractVar[int]
    """How many quantities are observed."""
    privileged_size: eqx.AbstractVar[int]
    """How many privileged values training can make use of; 0 where it makes use of none."""

    @property
    def input_size(self) -> int:
        """How many numbers it takes that are known of new systems too; none unless it says so."""
        return 0

    @abc.abstractmethod
    def represent(
        self, observations: Observations, *, key: PRNGKeyArray | None
    ) -> PyTree[AnyArray]:
        """Each point on its own, padding too: what does not depend on which points are in a set.

        Training asks for two sets of the same points; this is computed once for both.
        """

    @abc.abstractmethod
    def summarise(
        self,
        points: PyTree[AnyArray],
        mask: Bool[AnyArray, " time"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Code:
        """The code of the represented points that `mask` calls real, of which there may be none.

        Privileged values are NaN where they are not known; where all are, as in every prediction,
        they must have no influence.
        """

    @abc.abstractmethod
    def decode(
        self,
        sample: Sample,
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray | None = None,
    ) -> Normal:
        """$p(y | z, t)$ at each of the times: a Normal of shape (time, observation).

        Times beyond 1, the end of what a process is trained on, come with a `horizon` (a whole
        number) not below the last of them.
        """

    @property
    def uses_privileged(self) -> bool:
        """Whether training can make use of privileged information."""
        return self.privileged_size > 0

    def encode(
        self,
        observations: Observations,
        privileged: Float[AnyArray, " privileged"] | None = None,
        *,
        key: PRNGKeyArray | None = None,
    ) -> Code:
        r"""The code of all real observations: $q'(z | X)$, or $q(z | X, \pi)$ with privileged
        values."""
        process = self.without_privileged() if privileged is None else self
        size = process.privileged_size
        values = np.full(size, np.nan, np.float32) if privileged is None else privileged[:size]
        points = process.represent(observations, key=key)
        return process.summarise(points, observations.mask, values, key=key)

    def encode_split(
        self,
        split: Split,
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Code, Code]:
        r"""The codes of a target, $q(z | T, \pi)$, and of the context inside it, $q'(z | C)$.

        As `encode` gives them, but each point is represented once for both.
        """
        known = privileged[: self.privileged_size]
        sets = [(split.target.mask, known), (split.context.mask, jnp.full_like(known, jnp.nan))]
        target, context = self.encode_sets(split.target, sets, key=key)
        return target, context

    def encode_sets(
        self,
        observations: Observations,
        sets: Sequence[tuple[Bool[AnyArray, " time"], Float[AnyArray, " privileged"]]],
        *,
        key: PRNGKeyArray | None = None,
    ) -> list[Code]:
        """The codes of several sets of the same points, each by its mask and privileged values."""
        points = self.represent(observations, key=key)
        masks, values = (jnp.stack(parts) for parts in zip(*sets, strict=True))
        keys = None if key is None else jax.random.split(key, len(sets))
        codes = jax.vmap(lambda *one: self.summarise(points, *one[:2], key=one[2]))(
            masks, values, keys
        )
        return [jax.tree.map(lambda leaf, i=i: leaf[i], codes) for i in range(len(sets))]

    def lesson(
        self, split: Split, privileged: Float[AnyArray, " privileged"], *, key: PRNGKeyArray
    ) -> Lesson:
        """What an objective learns from: both codes of a split, and what else has a cost."""
        return Lesson(*self.encode_split(split, privileged, key=key), costs={})

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Predict with z as the encoder gives it; `inference` has other ways to find it."""
        code = self.encode(context)
        return self.predict_from_code(
            code, times, num_samples=num_samples, horizon=horizon, key=key
        )

    def predict_from_code(
        self,
        code: Code,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int = 1,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Predict from a code, however it came about.

        A sample is the same whatever the number of samples and of later times.
        """
        latent_key, noise_key = jax.random.split(key)
        latents = code.latent.sample(latent_key, (num_samples,))
        return self.predict_from_latents(
            latents, code.deterministic, times, horizon=horizon, key=noise_key
        )

    def predict_from_latents(
        self,
        latents: Float[AnyArray, "sample latent"],
        deterministic: PyTree[AnyArray],
        times: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Predict from samples of z; `key` is for the noise of observing."""

        def one(latent):
            return self.decode(Sample(latent, deterministic), times, horizon=horizon)

        decoded = map_samples(one, latents)
        return Prediction(jnp.asarray(times), decoded.loc, decoded.scale, key)

    def in_training(self: Self) -> Self:
        """The process as training runs it, where parts of it run otherwise then."""
        return _replace(self, TrainingForm, lambda part: part.in_training())

    def without_privileged(self: Self) -> Self:
        """The process at test time: what only privileged information needs taken off."""
        return without_privileged(self)


class TrainingForm(eqx.Module):
    """A part that is not quite the same in training, such as a solver of fewer steps."""

    @abc.abstractmethod
    def in_training(self) -> eqx.Module:
        """The part as training runs it."""


class AbstractPrivilegedPart(eqx.Module):
    """A way to use privileged values: a field of a process, taken off for predictions."""

    privileged_size: eqx.AbstractVar[int]
    """How many values it takes."""
    tells_context: ClassVar[bool] = False
    """Whether they are told to the context's code too, in training."""

    @abc.abstractmethod
    def __call__(
        self,
        summary: Float[Array, " summary"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, " summary"]:
        """The summary of a set of points with what is known; NaN is not known, and if all are it
        stays as it is."""

    def costs(
        self, context: Code, untold: Code, privileged: Float[AnyArray, " privileged"]
    ) -> dict[str, Float[Array, ""]]:
        """What training makes small beside its objective, by name.

        Of the context's code, as training has it and as a prediction will: the same, unless the
        context is told.
        """
        return {}


def without_privileged(predictor: Predictor) -> Predictor:
    """A predictor with all of its processes as they are at test time.

    One that was trained with privileged information is then the same program as one that was not,
    and what is compiled for the one serves the other.
    """
    return _replace(predictor, AbstractPrivilegedPart, lambda part: None)


def map_samples(decode: Callable[[Array], Normal], latents: Float[AnyArray, "sample latent"]):
    """What each of many samples of z decodes to, as many at once as is quick."""
    if len(latents) <= SAMPLES_AT_ONCE:
        return jax.vmap(decode)(latents)
    return jax.lax.map(decode, latents, batch_size=SAMPLES_AT_ONCE)


def _replace(process: Any, kind: type, new) -> Any:
    return jax.tree.map(
        lambda node: new(node) if isinstance(node, kind) else node,
        process,
        is_leaf=lambda node: isinstance(node, kind),
    )


def num_parameters(process: eqx.Module) -> int:
    """How many numbers training adjusts."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(eqx.filter(process, eqx.is_array)))
