"""Part 8: latent states back to observations."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import Normal
from lupi.models.layers import MLP


class Decoder(eqx.Module):
    r"""$\hat y(t) = f_{dec}(L(t), z)$ with its learned uncertainty, as a Normal.

    $\sigma_y = s + (1 - s)\,\mathrm{softplus}(\cdot)$ with the floor $s$ = `min_scale`, 0.1 in
    the paper.
    """

    mlp: MLP
    min_scale: float = eqx.field(static=True)

    def __init__(
        self,
        latent_state_size: int,
        *,
        global_latent_size: int,
        observation_size: int,
        hidden_size: int,
        min_scale: float,
        key: PRNGKeyArray,
    ):
        inputs = latent_state_size + global_latent_size
        self.mlp = MLP((inputs, hidden_size, hidden_size, 2 * observation_size), key=key)
        self.min_scale = min_scale

    def __call__(
        self,
        latent_state: Float[Array, "*time latent_state"],
        global_latent: Float[Array, " global_latent"],
    ) -> Normal:
        mean, raw_scale = jnp.split(self.mlp(latent_state, global_latent), 2, axis=-1)
        return Normal(mean, self.min_scale + (1 - self.min_scale) * jax.nn.softplus(raw_scale))
