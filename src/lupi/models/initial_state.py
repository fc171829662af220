"""Part 6: where the latent ODE starts."""

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.models.layers import MLP


class InitialState(eqx.Module):
    """$L(0) = f_{init}(z)$: the latent state at time 0."""

    mlp: MLP

    def __init__(
        self,
        global_latent_size: int,
        *,
        hidden_size: int,
        latent_state_size: int,
        key: PRNGKeyArray,
    ):
        self.mlp = MLP((global_latent_size, hidden_size, hidden_size, latent_state_size), key=key)

    def __call__(
        self, global_latent: Float[Array, " global_latent"]
    ) -> Float[Array, " latent_state"]:
        return self.mlp(global_latent)
