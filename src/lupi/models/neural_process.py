"""A neural process: a latent and no dynamics."""

from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Float, PRNGKeyArray

from lupi.distributions import AnyArray, Normal
from lupi.models.latent_process import AbstractLatentProcess, GlobalLatentSettings
from lupi.models.parts.decoder import Decoder
from lupi.models.process import Sample


class NeuralProcess(AbstractLatentProcess):
    """$p(y | t, z)$ with a global latent z (Garnelo et al., 2018)."""

    decoder: Callable[..., Normal]
    """Of times, z and inputs, where there are any."""

    def decode(
        self,
        sample: Sample,
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray | None = None,
    ) -> Normal:
        """Each time decoded beside z."""
        inputs = (sample.deterministic.at(ts),) if self.input_size else ()
        return self.decoder(jnp.asarray(ts)[:, None], sample.latent, *inputs)


class NeuralProcessSettings(GlobalLatentSettings):
    """A neural process: a latent without dynamics, quick."""

    kind: Literal["neural-process"] = "neural-process"

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> NeuralProcess:
        """The process for data of these sizes."""
        z_size = self.global_latent_size
        return NeuralProcess(  # pyright: ignore[reportCallIssue]
            **self.encoding_parts(z_size, observation_size, privileged_size, input_size),
            decoder=Decoder(
                1 + z_size + input_size,
                observation_size,
                hidden_size=self.hidden_size,
                min_scale=self.min_observation_scale,
            ),
        )
