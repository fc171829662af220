"""What one seed of a run learns from, and its random numbers."""

from typing import NamedTuple

import jax
from jaxtyping import PRNGKeyArray

from lupi.data import RaggedTasks, Task
from lupi.experiments.experiment import Experiment
from lupi.experiments.settings import RunSettings
from lupi.experiments.systems import RunData, make_data, make_lessons


class Keys(NamedTuple):
    """Of the random numbers of one run, each kind apart."""

    data: PRNGKeyArray
    contexts: PRNGKeyArray
    weights: PRNGKeyArray
    fit: PRNGKeyArray
    prediction: PRNGKeyArray


class Lesson(NamedTuple):
    """What one seed learns from."""

    keys: Keys
    data: RunData
    tasks: Task | RaggedTasks

    @classmethod
    def of(cls, experiment: Experiment, settings: RunSettings, seed: int) -> "Lesson":
        """Of one seed of an experiment."""
        keys = Keys(*jax.random.split(jax.random.key(seed), 5))
        data = make_data(experiment, settings, key=keys.data)
        return cls(keys, data, make_lessons(data, settings, key=keys.data))

    @property
    def shapes(self) -> tuple:
        """What two must agree in to be learnt in one loop.

        Those on a table may not: a series held out may lie outside of all others, and gaps are few.
        Nor need simulated ones that are smooth in one run and not in another.
        """
        validation = self.data.validation
        gaps = (part.observations.gaps is None for part in (self.tasks, validation))
        padded = () if isinstance(self.tasks, RaggedTasks) else self.tasks.observations.ts.shape
        return len(validation), *gaps, *padded
