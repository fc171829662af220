"""Part 3: privileged information to its representation."""

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import MLP


class PrivilegedEncoder(eqx.Module):
    r"""$r_\pi = f_\pi(\pi)$: the representation of what is known in training only."""

    mlp: MLP

    def __init__(
        self,
        privileged_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        key: PRNGKeyArray,
    ):
        self.mlp = MLP((privileged_size, hidden_size, hidden_size, representation_size), key=key)

    @property
    def privileged_size(self) -> int:
        """How many privileged values there are."""
        return self.mlp.in_size

    def __call__(self, privileged: Float[Array, " privileged"]) -> Float[Array, " representation"]:
        return self.mlp(privileged)
