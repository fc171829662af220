"""The sizes of a process, as data."""

import math

from pydantic import BaseModel, ConfigDict, Field


class ProcessSettings(BaseModel):
    """What `build_process` needs to know. The sizes and scales are the paper's."""

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
    initial_gain: float = Field(default=math.sqrt(3.0), gt=0)
    """On the initial weights U(-1/sqrt(n), 1/sqrt(n)) of Equinox, which are PyTorch's too.

    The paper does not speak of them; its code has 1. This gives a weight the variance 1/n, so that
    a signal keeps its size from layer to layer. With 1, z hardly moves the decoder at first, and
    on Lotka-Volterra most runs stay on that plateau for 100 epochs and more.
    """
    solver_steps: int = Field(default=56, ge=1)
    """Of the latent ODE, for each unit of time, in predictions: their error is then below 1e-4."""
