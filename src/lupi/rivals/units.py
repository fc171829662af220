"""What rivals of one series know of the others: where values lie, and how far apart."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from lupi.data.observations import Task
from lupi.distributions import AnyArray
from lupi.errors import UserError

SMALLEST_STD = 1e-6


class Units(eqx.Module):
    """The mean and the standard deviation of each observed quantity."""

    mean: Float[AnyArray, " observation"]
    std: Float[AnyArray, " observation"]

    @classmethod
    def of(cls, tasks: Task) -> "Units":
        """Over all observations of training systems."""
        seen = tasks.observations
        known = np.broadcast_to(np.asarray(seen.known), np.shape(seen.ys))
        if not known.any(axis=(0, 1)).all():
            raise UserError(
                "one of the observed quantities has no value in all of the systems: leave it out."
            )
        mean = np.mean(seen.ys, axis=(0, 1), where=known)
        std = np.maximum(np.std(seen.ys, axis=(0, 1), where=known), SMALLEST_STD)
        return cls(mean=mean.astype(np.float32), std=std.astype(np.float32))

    def to_own(self, ys: Float[AnyArray, "*time observation"]) -> Float[Array, "*time observation"]:
        """Values in these units."""
        return (ys - self.mean) / self.std

    def to_model(self, ys: Float[Array, "*time observation"]) -> Float[Array, "*time observation"]:
        """Back to the units that they came in."""
        return self.mean + self.std * ys
