"""A neural ODE process of second order: a latent position that has a velocity."""

from typing import Literal

import equinox as eqx

from lupi.models.neural_ode_process import NeuralODEProcess, NeuralODEProcessSettings
from lupi.models.parts.latent_ode import SecondOrderODE
from lupi.models.settings import Size


class SecondOrderProcessSettings(NeuralODEProcessSettings):
    """A neural ODE process whose latent state is a position and its velocity.

    Only the velocity's derivative is learnt (ND2P; Norcliffe et al., 2021).
    """

    kind: Literal["second-order-process"] = "second-order-process"  # pyright: ignore[reportIncompatibleVariableOverride]
    latent_state_size: Size = 8
    """Size of the latent position, and of its velocity."""

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> NeuralODEProcess:
        """The process for data of these sizes."""
        whole = self.model_copy(update={"latent_state_size": 2 * self.latent_state_size})
        process = super(SecondOrderProcessSettings, whole).build(
            observation_size, privileged_size, input_size
        )
        second = SecondOrderODE(
            self.latent_state_size,
            global_latent_size=self.global_latent_size,
            input_size=input_size,
            hidden_size=self.hidden_size,
            **self.solver,
        )
        return eqx.tree_at(lambda process: process.latent_ode, process, second)
