"""How a process is trained, as data."""

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lupi.data.split import RANDOM, Contexts

MOST = 2**31 - 1
"""Of anything that is counted: what a compiled loop counts with."""

Size = Annotated[int, Field(ge=1, le=2**20)]
"""Of a set of observations: room for one more than there are costs nothing, but twice the largest
number must still be one."""

Sizes = tuple[Size, Size]

STEPS, MOST_EPOCHS = 20_000, 2_000
"""Of training, unless the settings say how many epochs."""

STEPS_PER_POINT, FEWEST_STEPS = 6, 2_000
"""Of training where there are too few observations for as many."""


class TrainingSettings(BaseModel):
    """What `fit` needs to know. The defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: int | None = Field(default=100, ge=1, le=MOST)
    """How often training goes through the series; none takes as many as make 20,000 steps."""
    optimiser: Literal["adam", "muon"] = "adam"
    """Muon turns the step of every matrix into one that moves all its directions equally; what is
    no matrix is Adam's. A step takes longer and achieves more."""
    learning_rate: float = Field(default=1e-3, gt=0)
    batch_size: int = Field(default=1, ge=1, le=MOST)
    """Series in a step."""
    context_sizes: Sizes = (5, 9)
    """The least and the largest number of observations that a forecast is made from in training."""
    contexts: Contexts = RANDOM
    """Which observations these are."""
    target_sizes: Sizes = (15, 50)
    """The least and the largest number of observations that it is compared with."""
    decay: bool = False
    """Let the learning rate rise over the first twentieth of the steps and then fall to 0, as a
    cosine; otherwise it stays."""
    max_gradient: float | None = Field(default=None, gt=0)
    """The largest norm of a step's gradient; a longer one is shortened to it."""
    keep_best: bool = False
    """Keep the weights with the lowest validation loss instead of the last, where held-out series
    agree that they are better beyond chance."""
    validations: int | None = Field(default=None, ge=1, le=MOST)
    """How often the validation loss is computed, evenly spread and once more after the first epoch;
    none is after every epoch."""
    validation_draws: int = Field(default=1, ge=1, le=2**16)
    """Random splits of each validation series, each with samples of its own, in that loss."""

    @model_validator(mode="after")
    def _ordered(self) -> "TrainingSettings":
        for name in ("context_sizes", "target_sizes"):
            smallest, largest = getattr(self, name)
            if smallest > largest:
                raise ValueError(f"{name} must be (smallest, largest), got ({smallest}, {largest})")
        return self

    @property
    def largest_set(self) -> int:
        """The most observations that a target, and a context inside it, may have."""
        return max(self.target_sizes[1], self.context_sizes[1])

    def of_steps(self) -> "TrainingSettings":
        """What steps depend on; all else as by default, so that nothing is compiled again for it.

        How many epochs there are only matters to a learning rate that falls with them.
        """
        others = {"keep_best", "validations", "validation_draws"}
        others |= set() if self.decay else {"epochs"}
        return self._without(others)

    def of_validation(self) -> "TrainingSettings":
        """The same for the validation loss."""
        own = {"context_sizes", "contexts", "target_sizes", "validation_draws"}
        return self._without(set(type(self).model_fields) - own)

    def _without(self, names: set[str]) -> "TrainingSettings":
        fields = type(self).model_fields
        return self.model_copy(update={name: fields[name].default for name in names})

    def limited_to(self, num_tasks: int) -> "TrainingSettings":
        """The same, with no more series in a step than there are."""
        return self.model_copy(update={"batch_size": min(self.batch_size, num_tasks)})

    def suited_to(self, num_tasks: int, num_points: int, members: int) -> "TrainingSettings":
        """The same for so many series with so many observations in all, and for so many networks
        that are trained together.

        Unless the settings say how many epochs, there are fewer steps where there is less to learn
        from, and where several networks learn it.
        """
        limited = self.limited_to(num_tasks)
        wanted = max(FEWEST_STEPS, STEPS_PER_POINT * num_points)
        most = min(MOST_EPOCHS * (per_epoch := max(1, num_tasks // limited.batch_size)), STEPS)
        steps = min(wanted, most // (2 if members > 1 else 1))
        return limited.model_copy(update={"epochs": self.epochs or math.ceil(steps / per_epoch)})

    def num_epochs(self, num_tasks: int) -> int:
        """How many epochs there are with so many tasks to train on."""
        steps = max(1, num_tasks // self.batch_size)
        return self.epochs or min(MOST_EPOCHS, math.ceil(STEPS / steps))

    def validates(self, epoch: int, num_epochs: int) -> bool:
        """Whether the validation loss is computed after this epoch; after the last it always is."""
        every = 1 if self.validations is None else math.ceil(num_epochs / self.validations)
        return epoch in (1, num_epochs) or epoch % every == 0
