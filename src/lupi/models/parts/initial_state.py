"""Part 6: where the latent ODE starts."""

import equinox as eqx
from jaxtyping import Array, Float

from lupi.distributions import AnyArray
from lupi.models.parts.layers import MLP


class InitialState(eqx.Module):
    """$L(0) = f_{init}(z)$: the latent state at time 0."""

    mlp: MLP

    def __init__(
        self,
        global_latent_size: int,
        *,
        hidden_size: int,
        latent_state_size: int,
    ):
        sizes = (global_latent_size, hidden_size, hidden_size, latent_state_size)
        self.mlp = MLP(sizes)

    def __call__(
        self, global_latent: Float[AnyArray, " global_latent"]
    ) -> Float[Array, " latent_state"]:
        return self.mlp(global_latent)
