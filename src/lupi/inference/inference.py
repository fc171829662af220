"""What an inference is."""

import abc
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from lupi.data.observations import Observations
from lupi.distributions import AnyArray, Normal
from lupi.inference.family import Family
from lupi.models import AbstractPredictor, AbstractProcess, Findings, Prediction, Sample
from lupi.models.process import map_samples


class Inferred(eqx.Module):
    """Samples of z for a context, and what they decode to."""

    latents: Float[Array, "sample latent"]
    decoded: Normal
    """At the times asked for: of shape (sample, time, observation)."""
    trajectories: Float[Array, "sample grid observation"] | None = None
    """The means on the grid of the family, where one is known."""
    log_evidence: Float[Array, ""] = eqx.field(default_factory=lambda: jnp.array(jnp.nan))
    """The logarithm of the density of the context under the model; NaN is not known."""
    effective_share: Float[Array, ""] = eqx.field(default_factory=lambda: jnp.array(1.0))
    """How many of the samples count."""


class AbstractInference(eqx.Module):
    """How samples of z are found from a context, for any process. Its fields are its settings."""

    needs_family: ClassVar[bool] = True
    """Whether it asks what is known of the family of systems."""

    @abc.abstractmethod
    def infer(
        self,
        process: AbstractProcess,
        family: Family | None,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        privileged: Float[AnyArray, " privileged"] | None = None,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Inferred:
        """Samples of z and what they decode to at the times.

        Given a context, what is known of the family and, where some are known of this very system,
        privileged values (NaN where not).
        """


class InferringPredictor(AbstractPredictor):
    """A process, what it knows of its family, and the way its z is found."""

    process: AbstractProcess
    inference: AbstractInference
    family: Family | None = None

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.process.observation_size

    @property
    def takes_as_long_for_all(self) -> bool:
        """The encoder does; a search takes as long as it takes."""
        return self.family is None

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        privileged: Float[AnyArray, " privileged"] | None = None,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Predict from the samples of z that the inference finds.

        Privileged values have a way here for those who know them of a new system; nothing asks for
        them.
        """
        latent_key, noise_key = jax.random.split(key)
        inferred = self.inference.infer(
            self.process,
            self.family,
            context,
            times,
            privileged=privileged,
            num_samples=num_samples,
            horizon=horizon,
            key=latent_key,
        )
        loc, scale, family = inferred.decoded.loc, inferred.decoded.scale, self.family
        if family is None:
            return Prediction(jnp.asarray(times), loc, scale, noise_key)
        findings = self._findings(family, context, inferred)
        noise = family.trust.noise_at(jnp.sum(context.mask), jnp.asarray(times))
        scale = noise[:, None] * scale
        return Prediction(jnp.asarray(times), loc, scale, noise_key, findings)

    def _findings(self, family: Family, context: Observations, inferred: Inferred) -> Findings:
        privileged, surprise = None, jnp.array(jnp.nan)
        number = jnp.sum(context.mask)
        if family.reader is not None and inferred.trajectories is not None:
            privileged = jax.vmap(family.read)(inferred.trajectories)
            if family.trust.gathering is not None:
                privileged = family.trust.gathering(privileged, number)
        if family.surprise is not None:
            surprise = family.surprise.p_value(inferred.log_evidence, number)
        return Findings(privileged, inferred.log_evidence, surprise, inferred.effective_share)


def decode_with_grid(
    process: AbstractProcess,
    family: Family,
    context: Observations,
    latents: Float[Array, "sample latent"],
    deterministic: PyTree[AnyArray],
    parts: Sequence[Float[AnyArray, " _"]],
    *,
    horizon: int,
) -> list[Normal]:
    """What samples of z decode to at several sets of times, and last on the grid of the family,
    under its reference inputs where there are inputs; on none of it where nothing reads it."""
    grid = family.grid if family.reader is not None else family.grid[:0]
    if family.response is None or family.reader is None:
        return decode_samples(process, latents, deterministic, [*parts, grid], horizon=horizon)
    shift = family.given(context.inputs).centre - family.centre
    reference = at_reference(process, family, context)
    return [
        *decode_samples(process, latents, deterministic, parts, horizon=horizon),
        *decode_samples(process, latents - shift, reference, [grid], horizon=1),
    ]


def at_reference(
    process: AbstractProcess, family: Family, context: Observations
) -> PyTree[AnyArray]:
    """The deterministic part of the code of a system with the reference inputs of a family."""
    assert family.response is not None
    return process.encode(context.under(family.response.reference)).deterministic


def decode_samples(
    process: AbstractProcess,
    latents: Float[Array, "sample latent"],
    deterministic: PyTree[AnyArray],
    parts: Sequence[Float[AnyArray, " _"]],
    *,
    horizon: int,
) -> list[Normal]:
    """What samples of z decode to at several sets of times, in one solve for each sample."""
    everywhere = jnp.concatenate([jnp.asarray(part) for part in parts])

    def one(latent):
        return process.decode(Sample(latent, deterministic), everywhere, horizon=horizon)

    decoded = map_samples(one, latents)
    ends = np.cumsum([0, *map(len, parts)])
    return [jax.tree.map(lambda leaf, i=i, j=j: leaf[:, i:j], decoded) for i, j in pairwise(ends)]
