"""Part 1: observations to representations."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class ObservationEncoder(eqx.Module):
    """$r_i = f_{obs}(t_i, y_i)$: the representation of one observation."""

    mlp: eqx.nn.MLP

    def __init__(
        self,
        observation_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        key: PRNGKeyArray,
    ):
        self.mlp = eqx.nn.MLP(1 + observation_size, representation_size, hidden_size, 2, key=key)

    def __call__(
        self, t: Float[Array, ""], y: Float[Array, " observation"]
    ) -> Float[Array, " representation"]:
        return self.mlp(jnp.concatenate([t[None], y]))
