"""The paper's process: eight parts, assembled."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from pydantic import Field

from lupi.data.inputs import Inputs
from lupi.data.observations import Observations
from lupi.distributions import AnyArray, Normal
from lupi.models.parts.aggregator import MeanLogSumExp
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.global_latent import GlobalLatent
from lupi.models.parts.initial_state import InitialState
from lupi.models.parts.latent_ode import LatentODE
from lupi.models.parts.observation_encoder import ObservationEncoder
from lupi.models.parts.privileged import ResidualCorrection
from lupi.models.process import AbstractPrivilegedPart, AbstractProcess, Code, Sample
from lupi.models.settings import NetworkSettings, Size


class NeuralODEProcess(AbstractProcess):
    """A latent trajectory that starts and moves as a global latent z says, and is observed.

    With its privileged part it is the paper's LUPI model in training; without it it is NoPI, and
    LUPI at test time. Any part may be replaced by another of the same call.
    """

    observation_encoder: Callable[[Observations], Float[Array, "time representation"]]
    aggregator: Callable[..., Float[Array, " aggregate"]]
    """Of representations and a mask."""
    global_latent: Callable[[Float[Array, " aggregate"]], Normal]
    initial_state: Callable[[Float[Array, " latent"]], Float[Array, " state"]]
    latent_ode: Callable[..., Float[Array, "time state"]]
    """Of an initial state, z and times, and a `horizon`."""
    decoder: Callable[..., Normal]
    """Of states, z and inputs, where there are any."""
    privileged: AbstractPrivilegedPart | None
    observation_size: int = eqx.field(static=True)
    input_size: int = eqx.field(static=True, default=0)  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    """Of what is known of new systems too: beside z it says how the system starts, moves and is
    observed, and stands beside every observation."""

    @property
    def privileged_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many privileged values correct the representation; 0 without such a part."""
        return 0 if self.privileged is None else self.privileged.privileged_size

    def represent(
        self, observations: Observations, *, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "time representation"], Inputs | None]:
        """$r_i$ of each observation; inputs are handed on to the decoder."""
        return self.observation_encoder(observations), observations.inputs

    def summarise(
        self,
        points: tuple[Float[Array, "time representation"], Inputs | None],
        mask: Bool[AnyArray, " time"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Code:
        r"""$q(z | r)$ of the aggregate $r_X$, which privileged information corrects."""
        representations, inputs = points
        aggregate = self.aggregator(representations, mask)
        if self.privileged is not None:
            aggregate = self.privileged(aggregate, privileged)
        return Code(self.global_latent(aggregate), inputs if self.input_size else ())

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


class NeuralODEProcessSettings(NetworkSettings):
    """A neural ODE process, with a correction by privileged values where there are any."""

    kind: Literal["neural-ode-process"] = "neural-ode-process"
    uses_privileged: ClassVar[bool] = True
    uses_inputs: ClassVar[bool] = True
    global_latent_size: Size = 16
    """Numbers that tell one system from another: the size of z."""
    latent_state_size: Size = 16
    """Size of the latent state that moves with time."""
    min_latent_scale: float = Field(default=0.1, ge=0, lt=1)
    """The least uncertainty about z."""
    solver_steps: int = Field(default=56, ge=1, le=2**14)
    """Of the latent ODE in predictions, for the span of the training data."""
    training_solver_steps: int = Field(default=32, ge=1, le=2**14)
    """The same in training, where less will do."""

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> NeuralODEProcess:
        """The process for data of these sizes."""
        common = {"hidden_size": self.hidden_size}
        represented: dict[str, Any] = common | {
            "representation_size": self.representation_size,
            "marks_gaps": self.marks_gaps,
        }
        aggregate_size = MeanLogSumExp.size(self.representation_size)
        z_size, state_size = self.global_latent_size, self.latent_state_size
        return NeuralODEProcess(  # pyright: ignore[reportCallIssue]
            observation_encoder=ObservationEncoder(
                observation_size, **represented, input_size=input_size
            ),
            aggregator=MeanLogSumExp(),
            global_latent=GlobalLatent(
                aggregate_size,
                **common,
                global_latent_size=z_size,
                min_scale=self.min_latent_scale,
            ),
            initial_state=InitialState(z_size + input_size, **common, latent_state_size=state_size),
            latent_ode=LatentODE(
                state_size,
                global_latent_size=z_size,
                input_size=input_size,
                **common,
                steps_per_unit=self.solver_steps,
                training_steps_per_unit=self.training_solver_steps,
            ),
            decoder=Decoder(
                state_size + z_size + input_size,
                observation_size,
                **common,
                min_scale=self.min_observation_scale,
            ),
            privileged=ResidualCorrection(privileged_size, aggregate_size, **represented)
            if privileged_size
            else None,
            observation_size=observation_size,
            input_size=input_size,
        )
