"""The paper's process: eight parts, assembled."""

from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import AnyArray, Normal
from lupi.models.latent_process import (
    AbstractLatentProcess,
    GlobalLatentSettings,
    SolverSettings,
)
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.initial_state import InitialState
from lupi.models.parts.latent_ode import LatentODE
from lupi.models.process import Sample
from lupi.models.settings import Size


class NeuralODEProcess(AbstractLatentProcess):
    """A latent trajectory that starts and moves as a global latent z says, and is observed.

    With its privileged part it is the paper's LUPI model in training; without it it is NoPI, and
    LUPI at test time.
    """

    initial_state: Callable[[Float[Array, " latent"]], Float[Array, " state"]]
    latent_ode: Callable[..., Float[Array, "time state"]]
    """Of an initial state, z and times, and a `horizon`."""
    decoder: Callable[..., Normal]
    """Of states, z and inputs, where there are any."""

    def decode(
        self,
        sample: Sample,
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray | None = None,
    ) -> Normal:
        """Latent states at the times, each decoded beside z."""
        z, inputs = sample.latent, sample.deterministic
        if not self.input_size:
            latent_states = self.latent_ode(self.initial_state(z), z, ts, horizon=horizon)
            return self.decoder(latent_states, z)
        at_start = jnp.concatenate([z, inputs.at(jnp.zeros(1))[0]])
        latent_states = self.latent_ode(
            self.initial_state(at_start), z, ts, horizon=horizon, inputs=inputs
        )
        return self.decoder(latent_states, z, inputs.at(ts))


class NeuralODEProcessSettings(GlobalLatentSettings, SolverSettings):
    """A neural ODE process, with a correction by privileged values where there are any."""

    kind: Literal["neural-ode-process"] = "neural-ode-process"
    latent_state_size: Size = 16
    """Size of the latent state that moves with time."""

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> NeuralODEProcess:
        """The process for data of these sizes."""
        z_size, state_size = self.global_latent_size, self.latent_state_size
        common = {"hidden_size": self.hidden_size}
        return NeuralODEProcess(  # pyright: ignore[reportCallIssue]
            **self.encoding_parts(z_size, observation_size, privileged_size, input_size),
            initial_state=InitialState(z_size + input_size, **common, latent_state_size=state_size),
            latent_ode=LatentODE(
                state_size,
                global_latent_size=z_size,
                input_size=input_size,
                **common,
                **self.solver,
            ),
            decoder=Decoder(
                state_size + z_size + input_size,
                observation_size,
                **common,
                min_scale=self.min_observation_scale,
            ),
        )
