"""A latent ODE: all that tells systems apart is where their latent state starts."""

from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import AnyArray, Normal
from lupi.models.latent_process import AbstractLatentProcess, SolverSettings
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.latent_ode import LatentODE
from lupi.models.process import Sample
from lupi.models.settings import Aggregator, Size


class LatentODEProcess(AbstractLatentProcess):
    """z is the latent state at time 0; it moves by one equation for all systems (Chen et al., 2018;
    Rubanova et al., 2019), and is observed."""

    latent_ode: Callable[..., Float[Array, "time state"]]
    decoder: Callable[..., Normal]
    """Of states, and inputs where there are any."""

    def decode(
        self,
        sample: Sample,
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray | None = None,
    ) -> Normal:
        """Latent states at the times, each decoded."""
        path = sample.deterministic if self.input_size else None
        states = self.latent_ode(sample.latent, jnp.zeros(0), ts, horizon=horizon, inputs=path)
        return self.decoder(states, *(() if path is None else (path.at(ts),)))


class LatentODESettings(SolverSettings):
    """A latent ODE, whose encoder reads the context in order of time."""

    kind: Literal["latent-ode"] = "latent-ode"
    aggregator: Aggregator = "recurrent"
    """How one vector is made of many representations (docs/models.md)."""
    latent_state_size: Size = 16
    """Size of the latent state that moves with time; its start is z."""

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> LatentODEProcess:
        """The process for data of these sizes."""
        size, common = self.latent_state_size, {"hidden_size": self.hidden_size}
        return LatentODEProcess(  # pyright: ignore[reportCallIssue]
            **self.encoding_parts(size, observation_size, privileged_size, input_size),
            latent_ode=LatentODE(
                size, global_latent_size=0, input_size=input_size, **common, **self.solver
            ),
            decoder=Decoder(
                size + input_size,
                observation_size,
                **common,
                min_scale=self.min_observation_scale,
            ),
        )
