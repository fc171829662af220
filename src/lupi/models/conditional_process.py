"""A conditional neural process: no latent, one deterministic representation."""

from typing import ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Bool, Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray, Normal
from lupi.models.parts.aggregator import AbstractAggregator
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.observation_encoder import ObservationEncoder, Points
from lupi.models.process import AbstractProcess, Code, Sample, no_latent
from lupi.models.settings import SetSettings


class ConditionalProcess(AbstractProcess):
    """$p(y | t, r)$ with $r$ the aggregate of the context (Garnelo et al., 2018)."""

    observation_encoder: ObservationEncoder
    aggregator: AbstractAggregator
    decoder: Decoder
    observation_size: int = eqx.field(static=True)
    privileged_size: int = eqx.field(static=True, default=0)
    input_size: int = eqx.field(static=True, default=0)  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def represent(self, observations: Observations, *, key: PRNGKeyArray | None) -> Points:
        """Each observation on its own; inputs are handed on to the decoder."""
        return Points.of(self.observation_encoder, observations)

    def summarise(
        self,
        points: Points,
        mask: Bool[AnyArray, " time"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Code:
        """The aggregate of the real points."""
        return Code(no_latent(), (points.aggregate(self.aggregator, mask), points.inputs))

    def decode(
        self,
        sample: Sample,
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray | None = None,
    ) -> Normal:
        """What is known of the system and a time, decoded."""
        aggregate, inputs = sample.deterministic
        known = (inputs.at(ts),) if self.input_size else ()
        return self.decoder(jnp.asarray(ts)[:, None], aggregate, *known)


class ConditionalProcessSettings(SetSettings):
    """A conditional neural process: quick, without a latent and without dynamics."""

    kind: Literal["conditional-process"] = "conditional-process"
    uses_inputs: ClassVar[bool] = True

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> ConditionalProcess:
        """The process for data of these sizes."""
        common = {"hidden_size": self.hidden_size}
        aggregator = self.make_aggregator()
        return ConditionalProcess(
            observation_encoder=ObservationEncoder(
                observation_size,
                **common,
                representation_size=self.representation_size,
                marks_gaps=self.marks_gaps,
                input_size=input_size,
            ),
            aggregator=aggregator,
            decoder=Decoder(
                1 + aggregator.aggregate_size + input_size,
                observation_size,
                **common,
                min_scale=self.min_observation_scale,
            ),
            observation_size=observation_size,
            input_size=input_size,
        )
