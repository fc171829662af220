"""What an objective is."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data import Split
from lupi.distributions import AnyArray
from lupi.models import AbstractProcess

Terms = dict[str, Float[Array, ""]]


class AbstractObjective(eqx.Module):
    """What training makes small, of any process. Its fields are its settings."""

    @abc.abstractmethod
    def __call__(
        self,
        process: AbstractProcess,
        split: Split,
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Terms]:
        """The loss of one task, and the terms it is made of, to be shown beside it."""

    def at(self, share: float) -> "AbstractObjective":
        """What it is after this share of training, from 0 to 1: itself, unless it changes."""
        return self
