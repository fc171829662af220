"""The sizes of a process, as data."""

import math
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Size = Annotated[int, Field(ge=1, le=2**14)]
"""Bounded, so that a file cannot ask for a network that no memory holds."""


class ProcessOptions(BaseModel):
    """What a process is like, whatever the data. The sizes and scales are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    hidden_size: Size = 16
    representation_size: Size = 16
    global_latent_size: Size = 16
    latent_state_size: Size = 16
    marks_gaps: bool = False
    """Whether the encoders are told which values are missing; without it observations must have no
    gaps."""
    min_latent_scale: float = Field(default=0.1, ge=0, lt=1)
    min_observation_scale: float = Field(default=0.1, ge=0, lt=1)
    initial_gain: float = Field(default=math.sqrt(3.0), gt=0)
    """On the initial weights U(-1/sqrt(n), 1/sqrt(n)) of Equinox, which are PyTorch's too.

    The paper does not speak of them; its code has 1. This gives a weight the variance 1/n, so that
    a signal keeps its size from layer to layer. With 1, z hardly moves the decoder at first, and
    on Lotka-Volterra most runs stay on that plateau for 100 epochs and more.
    """
    solver_steps: int = Field(default=56, ge=1, le=2**14)
    """Of the latent ODE, for each unit of time, in predictions: their error is then below 1e-4."""


class ProcessSettings(ProcessOptions):
    """What `build_process` needs to know: a process's options, and the sizes of its data."""

    observation_size: Size
    privileged_size: int = Field(default=0, ge=0, le=2**14)
    """How many privileged values each task has; 0 leaves the privileged parts out."""
