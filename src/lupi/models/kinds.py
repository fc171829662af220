"""Every kind of process there is."""

from typing import Annotated, Any

from pydantic import BeforeValidator, SerializeAsAny

from lupi.models.attentive_process import AttentiveProcessSettings
from lupi.models.bayesian_ode_process import BayesianODESettings
from lupi.models.conditional_process import ConditionalProcessSettings
from lupi.models.latent_ode_process import LatentODESettings
from lupi.models.neural_ode_process import NeuralODEProcessSettings
from lupi.models.neural_process import NeuralProcessSettings
from lupi.models.second_order_process import SecondOrderProcessSettings
from lupi.models.settings import ProcessSettings

KINDS: dict[str, type[ProcessSettings]] = {
    "neural-ode-process": NeuralODEProcessSettings,
    "conditional-process": ConditionalProcessSettings,
    "neural-process": NeuralProcessSettings,
    "attentive-process": AttentiveProcessSettings,
    "second-order-process": SecondOrderProcessSettings,
    "latent-ode": LatentODESettings,
    "bayesian-ode": BayesianODESettings,
}
"""The settings of every kind, by the `kind` that model files and settings files name."""


def as_process_settings(value: Any) -> Any:
    """Settings of the kind that a dictionary names."""
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}, expected one of {', '.join(KINDS)}")
    return KINDS[kind].model_validate(value)


AnyProcessSettings = Annotated[
    SerializeAsAny[ProcessSettings], BeforeValidator(as_process_settings)
]
"""A field for settings of any kind, written and read by their `kind`."""
