"""Processes that only tests have: kinds that are still to come must fit without a special case."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from lupi.distributions import Normal
from lupi.models import AbstractProcess, Code, NetworkSettings
from lupi.models.parts.aggregator import MeanLogSumExp
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.global_latent import GlobalLatent
from lupi.models.parts.layers import MLP
from lupi.models.parts.observation_encoder import ObservationEncoder
from lupi.models.process import no_latent


class LatentProcess(AbstractProcess):
    """A neural process: a latent and a deterministic representation, and no ODE."""

    observation_encoder: ObservationEncoder
    aggregator: MeanLogSumExp
    latent: GlobalLatent
    decoder: Decoder
    observation_size: int = eqx.field(static=True)
    privileged_size: int = eqx.field(static=True, default=0)

    def represent(self, observations, *, key):
        return self.observation_encoder(observations)

    def summarise(self, points, mask, privileged, *, key):
        aggregate = self.aggregator(points, mask)
        return Code(self.latent(aggregate), aggregate)

    def decode(self, sample, ts, *, horizon=1, key=None):
        return self.decoder(jnp.asarray(ts)[:, None], sample.latent, sample.deterministic)


class LatentSettings(NetworkSettings):
    kind: Literal["latent"] = "latent"

    def build(self, observation_size, privileged_size):
        size = MeanLogSumExp.size(self.representation_size)
        return LatentProcess(
            observation_encoder=ObservationEncoder(
                observation_size,
                hidden_size=self.hidden_size,
                representation_size=self.representation_size,
                marks_gaps=self.marks_gaps,
            ),
            aggregator=MeanLogSumExp(),
            latent=GlobalLatent(
                size, hidden_size=self.hidden_size, global_latent_size=4, min_scale=0.1
            ),
            decoder=Decoder(
                1 + 4 + size, observation_size, hidden_size=self.hidden_size, min_scale=0.1
            ),
            observation_size=observation_size,
        )


class AttentiveProcess(AbstractProcess):
    """A decoder that looks at the context: what it sees of it depends on the time it is asked."""

    queries: MLP
    values: ObservationEncoder
    decoder: Decoder
    observation_size: int = eqx.field(static=True)
    privileged_size: int = eqx.field(static=True, default=0)

    def represent(self, observations, *, key):
        return self.queries(observations.ts[:, None]), self.values(observations)

    def summarise(self, points, mask, privileged, *, key):
        return Code(no_latent(), (*points, jnp.asarray(mask)))

    def decode(self, sample, ts, *, horizon=1, key=None):
        keys, values, mask = sample.deterministic
        queries = self.queries(jnp.asarray(ts)[:, None])
        # One more key, of nothing: with no real point at all it is all there is to look at.
        keys = jnp.concatenate([jnp.zeros_like(queries[:1]), keys])
        values = jnp.concatenate([jnp.zeros((1, values.shape[-1])), values])
        real = jnp.concatenate([jnp.ones(1, bool), mask])
        scores = jnp.where(real, queries @ keys.T, jnp.finfo(jnp.float32).min)
        return self.decoder(jnp.asarray(ts)[:, None], jax.nn.softmax(scores, axis=-1) @ values)


class AttentiveSettings(NetworkSettings):
    kind: Literal["attentive"] = "attentive"

    def build(self, observation_size, privileged_size):
        return AttentiveProcess(
            queries=MLP((1, self.hidden_size, 4)),
            values=ObservationEncoder(
                observation_size,
                hidden_size=self.hidden_size,
                representation_size=self.representation_size,
                marks_gaps=self.marks_gaps,
            ),
            decoder=Decoder(
                1 + self.representation_size,
                observation_size,
                hidden_size=self.hidden_size,
                min_scale=0.1,
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
