"""Processes that only tests have."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp

from lupi.distributions import Normal
from lupi.models import AbstractProcess, Code, NetworkSettings
from lupi.models.parts.aggregator import Pool
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.global_latent import GlobalLatent
from lupi.models.parts.observation_encoder import ObservationEncoder, Points


class LatentProcess(AbstractProcess):
    """A latent beside a deterministic representation, and no use of inputs."""

    observation_encoder: ObservationEncoder
    aggregator: Pool
    latent: GlobalLatent
    decoder: Decoder
    observation_size: int = eqx.field(static=True)
    privileged_size: int = eqx.field(static=True, default=0)

    def represent(self, observations, *, key):
        return Points.of(self.observation_encoder, observations)

    def summarise(self, points, mask, privileged, *, key):
        aggregate = points.aggregate(self.aggregator, mask)
        return Code(self.latent(aggregate), aggregate)

    def decode(self, sample, ts, *, horizon=1, key=None):
        return self.decoder(jnp.asarray(ts)[:, None], sample.latent, sample.deterministic)


class LatentSettings(NetworkSettings):
    kind: Literal["latent"] = "latent"

    def build(self, observation_size, privileged_size):
        aggregator = Pool("mean-logsumexp", self.representation_size)
        size = aggregator.aggregate_size
        return LatentProcess(
            observation_encoder=ObservationEncoder(
                observation_size,
                hidden_size=self.hidden_size,
                representation_size=self.representation_size,
                marks_gaps=self.marks_gaps,
            ),
            aggregator=aggregator,
            latent=GlobalLatent(
                size, hidden_size=self.hidden_size, global_latent_size=4, min_scale=0.1
            ),
            decoder=Decoder(
                1 + 4 + size, observation_size, hidden_size=self.hidden_size, min_scale=0.1
            ),
            observation_size=observation_size,
        )


NOISE = 0.1
"""Of the closed forms below."""


class Known(AbstractProcess):
    """An encoder that only knows what it is told, and a decoder that is given in closed form."""

    curve: str = eqx.field(static=True)
    observation_size: int = eqx.field(static=True, default=1)
    privileged_size: int = eqx.field(static=True, default=2)

    def represent(self, observations, *, key):
        return observations.ts

    def summarise(self, points, mask, privileged, *, key):
        told = jnp.asarray(privileged.size == 2) & ~jnp.isnan(privileged).any()
        values = jnp.where(told, privileged if privileged.size else jnp.zeros(2), 0.0)
        return Code(Normal(values, jnp.where(told, 0.01, 1.0) * jnp.ones(2)))

    def without_privileged(self):
        return Known(self.curve, privileged_size=0)

    def decode(self, sample, ts, *, horizon=1, key=None):
        a, b = sample.latent
        ts = jnp.asarray(ts)
        curves = {
            "line": lambda: (a + b * ts, NOISE),
            "square": lambda: (a**2 + 0.3 * b * ts, NOISE),
            "wave": lambda: (jnp.sin((20 + 3 * a) * ts) + 0.1 * b, 1e-3),
        }
        loc, scale = curves[self.curve]()
        return Normal(loc[:, None], jnp.full((len(ts), 1), scale))


LINEAR_NOISE = 0.4


class LinearGaussian(AbstractProcess):
    """y = slopes(t) * z + noise with z ~ N(0, 1): its posterior and evidence are closed forms.

    The encoder gives the exact posterior, shifted and stretched.
    """

    shift: float = eqx.field(static=True, default=0.0)
    stretch: float = eqx.field(static=True, default=1.0)
    observation_size: int = eqx.field(static=True, default=2)
    privileged_size: int = eqx.field(static=True, default=0)

    @staticmethod
    def slopes(ts):
        return jnp.stack([1 + ts, jnp.cos(3 * ts)], axis=-1)

    def represent(self, observations, *, key):
        return self.slopes(observations.ts), observations.ys

    def summarise(self, points, mask, privileged, *, key):
        slopes, ys = points
        real = mask[:, None]
        precision = 1 + jnp.sum(slopes**2, axis=0, where=real) / LINEAR_NOISE**2
        mean = jnp.sum(slopes * ys, axis=0, where=real) / LINEAR_NOISE**2 / precision
        # Of no points it is the prior, which stays what it is.
        moved = jnp.where(mask.any(), self.shift, 0.0)
        stretched = jnp.where(mask.any(), self.stretch, 1.0)
        return Code(Normal(mean + moved, stretched * precision**-0.5))

    def decode(self, sample, ts, *, horizon=1, key=None):
        means = self.slopes(ts) * sample.latent
        return Normal(means, jnp.full_like(means, LINEAR_NOISE))
