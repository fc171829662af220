"""Part 1: observations to representations."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import MLP


class ObservationEncoder(eqx.Module):
    """$r_i = f_{obs}(t_i, y_i)$: the representation of one observation."""

    mlp: MLP

    def __init__(
        self,
        observation_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        key: PRNGKeyArray,
    ):
        self.mlp = MLP(
            (1 + observation_size, hidden_size, hidden_size, representation_size), key=key
        )

    @property
    def observation_size(self) -> int:
        """How many quantities are observed."""
        return self.mlp.in_size - 1

    def __call__(
        self, t: Float[Array, ""], y: Float[Array, " observation"]
    ) -> Float[Array, " representation"]:
        return self.mlp(jnp.concatenate([t[None], y]))
