"""Every model there is a name for: what it is made of, and how it is shown.

`lupi train --model`, `lupi reproduce --models`, the report and `lupi models` all read this table.
To add one, write its process (docs/new-model.md) and give it a line here; or, in a program of your
own, put it into `MODELS` before you use its name.
"""

from typing import TYPE_CHECKING, TypeAlias

from pydantic import BaseModel, ConfigDict

from lupi._machinery.kinds import by_kind
from lupi.errors import check_name
from lupi.inference import AbstractInference, Amortised, Family, InferringPredictor, Refined
from lupi.models import (
    AbstractPredictor,
    AbstractProcess,
    AnyProcessSettings,
    ConditionalProcessSettings,
    NeuralODEProcessSettings,
)
from lupi.objectives import AbstractObjective, Elbo

OBJECTIVES: dict[str, type[AbstractObjective]] = {"elbo": Elbo}
"""Every objective, by the name that settings files and model files give it."""

INFERENCES: dict[str, type[AbstractInference]] = {"amortised": Amortised, "refined": Refined}
"""Every inference, by the name that settings files and model files give it."""


if TYPE_CHECKING:
    AnyObjective: TypeAlias = AbstractObjective
    AnyInference: TypeAlias = AbstractInference
else:
    AnyObjective = by_kind("objective", OBJECTIVES)
    AnyInference = by_kind("inference", INFERENCES)


class ModelSettings(BaseModel):
    """What a model is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    process: AnyProcessSettings
    objective: AnyObjective = Elbo()
    """What training makes small."""
    inference: AnyInference = Amortised()
    """How a prediction finds what tells the system from others."""
    uses_privileged: bool = True
    """Whether training is shown privileged values, where there are any."""

    def privileged_size(self, available: int) -> int:
        """How many of the privileged values that are available such a model makes use of."""
        return available if self.uses_privileged and self.process.uses_privileged else 0

    def predictor(
        self, process: AbstractProcess, family: Family | None = None
    ) -> AbstractPredictor:
        """What predicts with a process of this model, and what is known of its family."""
        return InferringPredictor(process=process, inference=self.inference, family=family)  # pyright: ignore[reportCallIssue]


class Model(ModelSettings):
    """A line of the registry."""

    label: str
    """As tables and legends show it."""
    colour: str
    summary: str
    """In a few words."""


MODELS: dict[str, Model] = {
    "nopi": Model(
        process=NeuralODEProcessSettings(),
        uses_privileged=False,
        label="NoPI",
        colour="#c8553d",
        summary="neural ODE process, no privileged information",
    ),
    "lupi": Model(
        process=NeuralODEProcessSettings(),
        label="LUPI",
        colour="#1f6f8b",
        summary="neural ODE process that learns from privileged information",
    ),
    "cnp": Model(
        process=ConditionalProcessSettings(),
        uses_privileged=False,
        label="CNP",
        colour="#7a6fac",
        summary="conditional neural process: no latent, no dynamics, quick",
    ),
}


def get_model(name: str) -> Model:
    """The model of that name."""
    check_name("model", name, MODELS)
    return MODELS[name]
