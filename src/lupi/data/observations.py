"""Containers: what was seen of a system, and what else is known of it in training."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float

from lupi.data.inputs import Inputs
from lupi.distributions import AnyArray


class Observations(eqx.Module):
    """Points of one time series, each with its own time; `mask` says which of them are real.

    Points stand in any order and at any times. Entries behind a false mask are padding, so that
    series and contexts of different lengths share one array shape, and change no result; they
    must still be finite numbers. `gaps` says which single values of real points are missing;
    without it none are. `inputs` are what is known of the system whatever is observed.
    """

    ts: Float[AnyArray, "*task time"]
    ys: Float[AnyArray, "*task time observation"]
    mask: Bool[AnyArray, "*task time"]
    gaps: Bool[AnyArray, "*task time observation"] | None
    inputs: Inputs | None

    def __init__(
        self,
        ts: Float[AnyArray, "*task time"],
        ys: Float[AnyArray, "*task time observation"],
        mask: Bool[AnyArray, "*task time"] | None = None,
        gaps: Bool[AnyArray, "*task time observation"] | None = None,
        inputs: Inputs | None = None,
    ):
        """Without a `mask` all points are real; without `gaps` all their values are there."""
        self.ts, self.ys, self.gaps, self.inputs = ts, ys, gaps, inputs
        self.mask = np.ones(ts.shape, dtype=bool) if mask is None else mask

    @classmethod
    def none(cls, observation_size: int) -> "Observations":
        """No observation at all."""
        return cls(np.zeros(0, np.float32), np.zeros((0, observation_size), np.float32))

    def only(self, mask: Bool[AnyArray, "*task time"]) -> "Observations":
        """The same points, real only where `mask` is true as well."""
        return Observations(self.ts, self.ys, self.mask & mask, self.gaps, self.inputs)

    def under(self, inputs: Inputs | None) -> "Observations":
        """The same points, as if the system had other inputs."""
        return Observations(self.ts, self.ys, self.mask, self.gaps, inputs)

    def map_points(self, function: Callable[[Any], Any]) -> "Observations":
        """The same, with a function of each array that has an entry for each point."""
        ts, ys, mask = (function(part) for part in (self.ts, self.ys, self.mask))
        gaps = None if self.gaps is None else function(self.gaps)
        return Observations(ts, ys, mask, gaps, self.inputs)

    @property
    def known(self) -> Bool[AnyArray, "*task time #observation"]:
        """Which values are real: of a real point, and no gap."""
        real = self.mask[..., None]
        return real if self.gaps is None else real & ~self.gaps


class Task(eqx.Module):
    """One system to learn from: its observations, and its privileged information.

    A privileged value that is not known of this system is NaN; with none known, a process learns
    from the observations alone.

    Many tasks are one `Task` whose arrays have a leading axis; functions are written for one task
    and mapped over that axis by their caller.
    """

    observations: Observations
    privileged: Float[AnyArray, "*task privileged"]

    def __len__(self) -> int:
        """How many tasks stand along the leading axis."""
        return self.privileged.shape[0]

    def __getitem__(self, index) -> "Task":
        """The tasks at an index, a slice or an array of indices along the leading axis."""
        return jax.tree.map(lambda leaf: leaf[index], self)
