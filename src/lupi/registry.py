"""Every model there is a name for: what it is made of, and how it is shown.

`lupi train --model`, `lupi reproduce --models`, the report and `lupi models` all read this table.
To add one, write its process (docs/new-model.md) and give it a line here; or, in a program of your
own, put it into `MODELS` before you use its name.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from lupi._machinery.kinds import by_kind
from lupi.errors import UserError, check_name
from lupi.inference import AbstractInference, Amortised, Family, InferringPredictor, Refined
from lupi.models import (
    AbstractPredictor,
    AbstractProcess,
    AnyProcessSettings,
    AttentiveProcessSettings,
    BayesianODESettings,
    ConditionalProcessSettings,
    LatentODESettings,
    NeuralODEProcessSettings,
    NeuralProcessSettings,
    ProcessSettings,
    SecondOrderProcessSettings,
)
from lupi.objectives import (
    AbstractObjective,
    Elbo,
    ImportanceWeighted,
    MaximumLikelihood,
    Renyi,
)

OBJECTIVES: dict[str, type[AbstractObjective]] = {
    "elbo": Elbo,
    "npml": MaximumLikelihood,
    "importance": ImportanceWeighted,
    "renyi": Renyi,
}
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
    """What training makes small. A preset has its own in the place of the paper's bound, and leaves
    every other as it is."""
    inference: AnyInference = Amortised()
    """How a prediction finds what tells the system from others."""
    uses_privileged: bool = Field(default_factory=lambda given: _can_use_privileged(given))
    """Whether training is shown privileged values, where there are any; unless said otherwise,
    wherever the process can make use of them."""

    def privileged_size(self, available: int) -> int:
        """How many of the privileged values that are available such a model makes use of."""
        if not self.uses_privileged:
            return 0
        if available and not self.process.uses_privileged:
            raise UserError(
                f"a {self.process.kind} process makes no use of privileged values, but was asked "
                "to: choose a model that does (`lupi models`), or uses_privileged=False."
            )
        return available

    def predictor(
        self, process: AbstractProcess, family: Family | None = None
    ) -> AbstractPredictor:
        """What predicts with a process of this model, and what is known of its family."""
        return InferringPredictor(process=process, inference=self.inference, family=family)  # pyright: ignore[reportCallIssue]


def _can_use_privileged(given: dict[str, Any]) -> bool:
    return "process" in given and given["process"].uses_privileged


class Model(ModelSettings):
    """A line of the registry."""

    label: str
    """As tables and legends show it."""
    colour: str
    summary: str
    """In a few words."""


def _pair(
    name: str, process: ProcessSettings, *, label: str, colours: tuple[str, str], summary: str
) -> dict[str, Model]:
    """A process without privileged information, and under its name and `-lupi` with it."""
    return {
        name: Model(
            process=process,
            uses_privileged=False,
            label=label,
            colour=colours[0],
            summary=summary,
        ),
        f"{name}-lupi": Model(
            process=process,
            label=f"{label}, LUPI",
            colour=colours[1],
            summary=f"{name} that learns from privileged information",
        ),
    }


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
        label="CNP",
        colour="#7a6fac",
        summary="conditional neural process: no latent, no dynamics, quick",
    ),
    **_pair(
        "np",
        NeuralProcessSettings(),
        label="NP",
        colours=("#d9a441", "#8a5a00"),
        summary="neural process: a latent, no dynamics",
    ),
    **_pair(
        "anp",
        AttentiveProcessSettings(),
        label="ANP",
        colours=("#e58fb1", "#a3195b"),
        summary="attentive neural process: a latent, attention to the context, no dynamics",
    ),
    **_pair(
        "nd2p",
        SecondOrderProcessSettings(),
        label="ND2P",
        colours=("#7fbf7b", "#1b7837"),
        summary="neural ODE process of second order: latent position and velocity",
    ),
    **_pair(
        "latent-ode",
        LatentODESettings(),
        label="Latent ODE",
        colours=("#9ecae1", "#2171b5"),
        summary="latent ODE with a recurrent encoder",
    ),
    **_pair(
        "latent-cde",
        LatentODESettings(aggregator="controlled"),
        label="Latent CDE",
        colours=("#00dd99", "#54278f"),
        summary="latent ODE with a neural controlled differential equation as encoder",
    ),
    **_pair(
        "ode2vae",
        BayesianODESettings(),
        label="ODE2VAE",
        colours=("#c7a17a", "#6b3e12"),
        summary="second-order latent ODE with an uncertain vector field, as ODE2VAE",
    ),
    "lupi-concatenation": Model(
        process=NeuralODEProcessSettings(privileged_way="concatenation"),
        label="LUPI, concatenated",
        colour="#dd66cc",
        summary="lupi with privileged values beside the representation instead of a correction",
    ),
    "lupi-head": Model(
        process=NeuralODEProcessSettings(privileged_way="head"),
        label="LUPI, head",
        colour="#00ddcc",
        summary="nopi that learns to tell privileged values as a second task",
    ),
    "lupi-distillation": Model(
        process=NeuralODEProcessSettings(privileged_way="distillation"),
        label="LUPI, distilled",
        colour="#778800",
        summary="nopi that learns from a teacher who is told privileged values",
    ),
    "lupi-dropout": Model(
        process=NeuralODEProcessSettings(privileged_way="dropout"),
        label="LUPI, dropout",
        colour="#774455",
        summary="nopi with noise in training whose scale privileged values say",
    ),
    "lupi-dropping": Model(
        process=NeuralODEProcessSettings(privileged_way="dropping"),
        label="LUPI, dropping",
        colour="#9988ff",
        summary="lupi that is told privileged values of half of the systems, at random",
    ),
    "lupi-npml": Model(
        process=NeuralODEProcessSettings(),
        objective=MaximumLikelihood(),
        label="LUPI, NPML",
        colour="#445544",
        summary="lupi that is trained for likelihood once the bound has shown what z is for",
    ),
    "lupi-importance": Model(
        process=NeuralODEProcessSettings(),
        objective=ImportanceWeighted(),
        label="LUPI, IWAE",
        colour="#ddbbff",
        summary="lupi with the importance-weighted bound",
    ),
    "lupi-renyi": Model(
        process=NeuralODEProcessSettings(),
        objective=Renyi(),
        label="LUPI, Rényi",
        colour="#00bbff",
        summary="lupi with Rényi's bound",
    ),
    "nopi-npml": Model(
        process=NeuralODEProcessSettings(),
        objective=MaximumLikelihood(),
        uses_privileged=False,
        label="NoPI, NPML",
        colour="#559988",
        summary="nopi that is trained for likelihood once the bound has shown what z is for",
    ),
    "nopi-importance": Model(
        process=NeuralODEProcessSettings(),
        objective=ImportanceWeighted(),
        uses_privileged=False,
        label="NoPI, IWAE",
        colour="#aa7700",
        summary="nopi with the importance-weighted bound",
    ),
    "nopi-renyi": Model(
        process=NeuralODEProcessSettings(),
        objective=Renyi(),
        uses_privileged=False,
        label="NoPI, Rényi",
        colour="#ee7788",
        summary="nopi with Rényi's bound",
    ),
}


def get_model(name: str) -> Model:
    """The model of that name."""
    check_name("model", name, MODELS)
    return MODELS[name]
