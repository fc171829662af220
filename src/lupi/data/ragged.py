"""Many tasks of different lengths, padded only when some of them are taken."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from lupi.data.inputs import Inputs
from lupi.data.observations import Observations, Task


class RaggedTasks(eqx.Module):
    """Tasks one after the other, so that a long series costs memory for itself alone.

    The points of task `i` are `offsets[i]` to `offsets[i + 1]` of `observations`; all are real.
    """

    observations: Observations
    offsets: Int[np.ndarray, " boundary"]
    privileged: Float[np.ndarray, "task privileged"]
    inputs: Inputs | None = None
    """Of each task."""

    def __len__(self) -> int:
        """How many tasks there are."""
        return len(self.privileged)

    @property
    def lengths(self) -> Int[np.ndarray, " task"]:
        """The number of points of each task."""
        return np.diff(self.offsets)

    def take(
        self, chosen: Int[np.ndarray, " chosen"], *, length: int, rng: np.random.Generator
    ) -> Task:
        """Some of the tasks, padded to `length` points; of longer ones a random choice of points.

        A target drawn from such a choice is distributed as one drawn from all points, as long as it
        is no larger than `length`.
        """
        lengths = self.lengths[chosen]
        position = np.arange(length)
        mask = position < lengths[:, None]
        rows = self.offsets[chosen][:, None] + position
        for i in np.flatnonzero(lengths > length):
            picked = rng.choice(lengths[i], length, replace=False, shuffle=False)
            rows[i] = self.offsets[chosen[i]] + np.sort(picked)

        def padded(values: np.ndarray) -> np.ndarray:
            result = np.zeros((*mask.shape, *values.shape[1:]), values.dtype)
            result[mask] = values[rows[mask]]
            return result

        seen = self.observations
        gaps = None if seen.gaps is None else padded(seen.gaps)
        inputs = self._inputs_of(chosen)
        return Task(
            Observations(padded(seen.ts), padded(seen.ys), mask, gaps, inputs),
            self.privileged[chosen],
        )

    def _inputs_of(self, chosen: Int[np.ndarray, " chosen"]) -> Inputs | None:
        return jax.tree.map(lambda leaf: leaf[chosen], self.inputs)

    def only(self, chosen: Int[np.ndarray, " chosen"]) -> "RaggedTasks":
        """Some of the tasks, in this order."""
        rows = np.concatenate([np.arange(*self.offsets[i : i + 2]) for i in chosen.tolist()])
        seen = jax.tree.map(lambda leaf: leaf[rows], self.observations)
        offsets = np.append(0, np.cumsum(self.lengths[chosen]))
        return RaggedTasks(seen, offsets, self.privileged[chosen], self._inputs_of(chosen))

    def padded(self) -> Task:
        """All of the tasks, padded to the longest."""
        everyone, longest = np.arange(len(self)), int(self.lengths.max())
        return self.take(everyone, length=longest, rng=np.random.default_rng(0))
