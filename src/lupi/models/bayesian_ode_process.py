"""A Bayesian second-order latent ODE: a position, a momentum, and an uncertain vector field."""

from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import AnyArray, Normal
from lupi.models.latent_process import AbstractLatentProcess, SolverSettings
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.uncertain_ode import UncertainODE
from lupi.models.process import Sample
from lupi.models.settings import Size


class BayesianODEProcess(AbstractLatentProcess):
    """z is where a latent position and momentum start, and how the weights of their equation differ
    from their mean; the position is observed. In the manner of ODE2VAE (Yildiz et al., 2019).

    There, weights are one draw from a Gaussian for all systems. Here they are drawn for each: noise
    that is part of z is drawn by every objective and every inference without their knowing of it, a
    divergence is paid for it, and observations can narrow it.
    """

    latent_ode: UncertainODE
    decoder: Callable[..., Normal]
    """Of positions, and inputs where there are any."""

    def decode(
        self,
        sample: Sample,
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray | None = None,
    ) -> Normal:
        """Latent positions at the times, each decoded."""
        path = sample.deterministic if self.input_size else None
        size = self.latent_ode.position_size
        start, noise = jnp.split(sample.latent, [2 * size])
        states: Float[Array, "time state"] = self.latent_ode(
            start, noise, ts, horizon=horizon, inputs=path
        )
        return self.decoder(states[:, :size], *(() if path is None else (path.at(ts),)))


class BayesianODESettings(SolverSettings):
    """A second-order latent ODE with a Gaussian over the weights of its vector field."""

    kind: Literal["bayesian-ode"] = "bayesian-ode"
    latent_state_size: Size = 8
    """Size of the latent position, and of its momentum."""
    weight_noise_size: Size = 4
    """Directions in which the weights of each layer of the vector field are uncertain."""

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> BayesianODEProcess:
        """The process for data of these sizes."""
        size, common = self.latent_state_size, {"hidden_size": self.hidden_size}
        latent_ode = UncertainODE(
            size,
            noise_size=self.weight_noise_size,
            input_size=input_size,
            **common,
            **self.solver,
        )
        z_size = 2 * size + latent_ode.noise_size
        return BayesianODEProcess(  # pyright: ignore[reportCallIssue]
            **self.encoding_parts(z_size, observation_size, privileged_size, input_size),
            latent_ode=latent_ode,
            decoder=Decoder(
                size + input_size,
                observation_size,
                **common,
                min_scale=self.min_observation_scale,
            ),
        )
