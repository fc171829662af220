"""The sizes of a process, as data."""

from pydantic import BaseModel, ConfigDict, Field


class ProcessSettings(BaseModel):
    """What `build_process` needs to know. The defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    observation_size: int = Field(ge=1)
    privileged_size: int = Field(default=0, ge=0)
    """How many privileged values each task has; 0 leaves the privileged parts out."""
    hidden_size: int = Field(default=16, ge=1)
    representation_size: int = Field(default=16, ge=1)
    global_latent_size: int = Field(default=16, ge=1)
    latent_state_size: int = Field(default=16, ge=1)
    min_latent_scale: float = Field(default=0.1, ge=0, lt=1)
    min_observation_scale: float = Field(default=0.1, ge=0, lt=1)
    solver_steps: int = Field(default=32, ge=1)
    """Of the latent ODE, for each unit of time."""
