"""How a process is trained, as data."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

Sizes = tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]


class TrainingSettings(BaseModel):
    """What `fit` needs to know. The defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: int = Field(default=100, ge=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    batch_size: int = Field(default=1, ge=1)
    """Tasks per step."""
    context_sizes: Sizes = (5, 9)
    target_sizes: Sizes = (15, 50)
    decay: bool = False
    """Whether the learning rate rises over the first twentieth of the steps and then falls to 0, as
    a cosine; otherwise it stays."""
    max_gradient: float | None = Field(default=None, gt=0)
    """The largest norm of a step's gradient; a longer one is shortened to it."""
    keep_best: bool = False
    """Whether the weights of the epoch with the lowest validation loss are kept, not the last."""
    solver_steps: int = Field(default=32, ge=1)
    """Of the latent ODE, for each unit of time. Fewer than in predictions: an error of 1e-3, the
    largest seen, is nothing beside the noise of 0.1 that the likelihood allows for."""

    @model_validator(mode="after")
    def _ordered(self) -> "TrainingSettings":
        for name in ("context_sizes", "target_sizes"):
            smallest, largest = getattr(self, name)
            if smallest > largest:
                raise ValueError(f"{name} must be (smallest, largest), got ({smallest}, {largest})")
        return self
