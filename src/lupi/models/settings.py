"""What a process is like, as data."""

import abc
import math
from typing import Annotated, Any, ClassVar, Literal

from jaxtyping import PRNGKeyArray
from pydantic import BaseModel, ConfigDict, Field

from lupi.errors import UserError
from lupi.models.initialisation import initialise
from lupi.models.parts.aggregator import (
    AbstractAggregator,
    AttentionAggregator,
    BayesianAggregator,
    Pool,
)
from lupi.models.parts.readers import ControlledReader, RecurrentReader
from lupi.models.process import AbstractProcess

Size = Annotated[int, Field(ge=1, le=2**14)]
"""Bounded, so that a file cannot ask for a network that no memory holds."""


Aggregator = Literal[
    "mean",
    "logsumexp",
    "max",
    "mean-logsumexp",
    "mean-max",
    "bayesian",
    "attention",
    "recurrent",
    "controlled",
]
"""How one vector is made of many representations."""


class ProcessSettings(BaseModel):
    """What a kind of process is like, whatever the data; a subclass for each kind.

    A subclass gives its `kind` a default, which is its name in files, and says how it is built.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    kind: Any
    """The name of the kind, a constant."""
    uses_privileged: ClassVar[bool] = False
    """Whether processes of this kind can make use of privileged values."""
    uses_inputs: ClassVar[bool] = False
    """Whether they can make use of what is known of new systems too; such a kind takes `input_size`
    as a third argument of `build`."""
    initial_gain: float = Field(default=math.sqrt(3.0), gt=0)
    """Factor on PyTorch's initial weights."""

    @abc.abstractmethod
    def build(self, observation_size: int, privileged_size: int) -> AbstractProcess:
        """A process for data of these sizes, with shapes in the place of weights."""


class NetworkSettings(ProcessSettings):
    """What most kinds of process have in common. The sizes and scales are the paper's."""

    hidden_size: Size = 16
    """Width of every hidden layer."""
    representation_size: Size = 16
    """Numbers that stand for one observation."""
    marks_gaps: bool = False
    """Whether missing values are marked; without it observations must have no gaps."""
    min_observation_scale: float = Field(default=0.1, ge=0, lt=1)
    """The least noise a prediction allows for, in standard deviations of the data."""


class SetSettings(NetworkSettings):
    """What kinds of process have in common that make one vector of a set of observations."""

    aggregator: Aggregator = "mean-logsumexp"
    """How one vector is made of many representations (docs/models.md)."""

    def make_aggregator(self) -> AbstractAggregator:
        """The aggregator of that name, with shapes in the place of weights."""
        size = self.representation_size
        match self.aggregator:
            case "bayesian":
                return BayesianAggregator(size)
            case "attention":
                return AttentionAggregator(size)
            case "recurrent":
                return RecurrentReader(size)
            case "controlled":
                return ControlledReader(size, hidden_size=self.hidden_size)
            case pool:
                return Pool(pool, size)


def build_process(
    settings: ProcessSettings,
    *,
    observation_size: int,
    privileged_size: int = 0,
    input_size: int = 0,
    key: PRNGKeyArray,
) -> AbstractProcess:
    """A process with fresh weights, for data of these sizes.

    The weights of a part depend on `key`, the name of the part and its sizes alone: processes with
    and without privileged information start from the same weights in all they share.
    """
    if observation_size < 1 or privileged_size < 0:
        raise UserError(
            f"expected at least 1 observed quantity and 0 privileged ones, got {observation_size} "
            f"and {privileged_size}: give the sizes of your data."
        )
    if privileged_size and not settings.uses_privileged:
        raise UserError(
            f"a {settings.kind} process makes no use of privileged values, but "
            f"{privileged_size} were announced: build it with privileged_size=0."
        )
    if input_size and not settings.uses_inputs:
        raise UserError(
            f"a {settings.kind} process makes no use of what is known of new systems, but "
            f"{input_size} such numbers were announced: leave the known columns out, or choose "
            "another model."
        )
    process = built(settings, observation_size, privileged_size, input_size)
    return initialise(process, gain=settings.initial_gain, key=key)


def built(
    settings: ProcessSettings, observation_size: int, privileged_size: int, input_size: int
) -> AbstractProcess:
    """A process with shapes in the place of weights."""
    inputs = (input_size,) if input_size else ()
    return settings.build(observation_size, privileged_size, *inputs)
