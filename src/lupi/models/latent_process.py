"""What processes with a latent have in common: the way from a set of observations to z."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from pydantic import Field

from lupi.data.observations import Observations
from lupi.data.split import Split
from lupi.distributions import AnyArray, Normal
from lupi.models.parts.global_latent import GlobalLatent
from lupi.models.parts.observation_encoder import ObservationEncoder, Points
from lupi.models.parts.privileged import Sizes
from lupi.models.parts.privileged_ways import WAYS, Way
from lupi.models.process import AbstractPrivilegedPart, AbstractProcess, Code, Lesson
from lupi.models.settings import SetSettings, Size


class AbstractLatentProcess(AbstractProcess):
    """Observations are represented, aggregated, corrected by privileged values, and tell of z.

    A kind of process adds how z is decoded. Any part may be replaced by another of the same call.
    """

    observation_encoder: Callable[[Observations], Float[Array, "time representation"]]
    aggregator: Callable[..., Float[Array, " aggregate"]]
    """Of representations, a mask and times."""
    global_latent: Callable[[Float[Array, " aggregate"]], Normal]
    privileged: AbstractPrivilegedPart | None
    observation_size: int = eqx.field(static=True)
    input_size: int = eqx.field(static=True, default=0, kw_only=True)  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    """Of what is known of new systems too: it stands beside every observation, and beside z
    wherever z is decoded."""

    @property
    def privileged_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many privileged values training makes use of; 0 without a part for them."""
        return 0 if self.privileged is None else self.privileged.privileged_size

    def represent(self, observations: Observations, *, key: PRNGKeyArray | None) -> Points:
        """$r_i$ of each observation; inputs are handed on to the decoder."""
        return Points.of(self.observation_encoder, observations)

    def summarise(
        self,
        points: Points,
        mask: Bool[AnyArray, " time"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Code:
        r"""$q(z | r)$ of the aggregate $r_X$, which privileged information corrects."""
        aggregate = points.aggregate(self.aggregator, mask)
        if self.privileged is not None:
            aggregate = self.privileged(aggregate, privileged, key=key)
        return Code(self.global_latent(aggregate), points.inputs if self.input_size else ())

    def lesson(
        self, split: Split, privileged: Float[AnyArray, " privileged"], *, key: PRNGKeyArray
    ) -> Lesson:
        """Both codes of a split, and what the privileged part makes of them."""
        part = self.privileged
        if part is None:
            return super().lesson(split, privileged, key=key)
        told = privileged[: self.privileged_size]
        unknown = jnp.full_like(told, jnp.nan)
        context = split.context.mask
        sets = [(split.target.mask, told), (context, unknown)]
        if part.tells_context:
            sets.insert(1, (context, told))
        target, *contexts = self.encode_sets(split.target, sets, key=key)
        return Lesson(target, contexts[0], part.costs(contexts[0], contexts[-1], told))


class LatentSettings(SetSettings):
    """What kinds of process with a latent have in common."""

    uses_privileged: ClassVar[bool] = True
    uses_inputs: ClassVar[bool] = True
    min_latent_scale: float = Field(default=0.1, ge=0, lt=1)
    """The least uncertainty about z."""
    privileged_way: Way = "residual"
    """How privileged values are used in training, where there are any (docs/models.md)."""

    def encoding_parts(
        self, latent_size: int, observation_size: int, privileged_size: int, input_size: int
    ) -> dict[str, Any]:
        """The fields of such a process, from the observations to a z of this size."""
        aggregator = self.make_aggregator()
        sizes = Sizes(
            privileged_size,
            aggregator.aggregate_size,
            latent_size,
            self.hidden_size,
            self.representation_size,
            self.marks_gaps,
        )
        return {
            "observation_encoder": ObservationEncoder(
                observation_size,
                hidden_size=self.hidden_size,
                representation_size=self.representation_size,
                marks_gaps=self.marks_gaps,
                input_size=input_size,
            ),
            "aggregator": aggregator,
            "global_latent": GlobalLatent(
                aggregator.aggregate_size,
                hidden_size=self.hidden_size,
                global_latent_size=latent_size,
                min_scale=self.min_latent_scale,
            ),
            "privileged": WAYS[self.privileged_way](sizes) if privileged_size else None,
            "observation_size": observation_size,
            "input_size": input_size,
        }


class GlobalLatentSettings(LatentSettings):
    """The same, of those whose z is one vector of any size."""

    global_latent_size: Size = 16
    """Numbers that tell one system from another: the size of z."""


class SolverSettings(LatentSettings):
    """The same, of those that solve a differential equation."""

    solver_steps: int = Field(default=56, ge=1, le=2**14)
    """Of the latent ODE in predictions, for the span of the training data."""
    training_solver_steps: int = Field(default=32, ge=1, le=2**14)
    """The same in training, where less will do."""

    @property
    def solver(self) -> dict[str, int]:
        """What a latent ODE is told of it."""
        return {
            "steps_per_unit": self.solver_steps,
            "training_steps_per_unit": self.training_solver_steps,
        }
