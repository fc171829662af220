"""Part 8: what is known at a time back to observations."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from lupi.distributions import AnyArray, Normal
from lupi.models.parts.layers import MLP, softplus


class Decoder(eqx.Module):
    r"""$\hat y(t) = f_{dec}(L(t), z)$ with its learned uncertainty, as a Normal.

    $\sigma_y = s + (1 - s)\,\mathrm{softplus}(\cdot)$ with the floor $s$ = `min_scale`, 0.1 in
    the paper.
    """

    mlp: MLP
    min_scale: float = eqx.field(static=True)

    def __init__(
        self,
        in_size: int,
        observation_size: int,
        *,
        hidden_size: int,
        min_scale: float,
    ):
        """`in_size`: of all inputs together."""
        sizes = (in_size, hidden_size, hidden_size, 2 * observation_size)
        self.mlp = MLP(sizes)
        self.min_scale = min_scale

    def __call__(self, *inputs: Float[AnyArray, "*_ _"]) -> Normal:
        """Of a latent state and z, or whatever else is known; of many at once along first axes."""
        mean, raw_scale = jnp.split(self.mlp(*inputs), 2, axis=-1)
        return Normal(mean, self.min_scale + (1 - self.min_scale) * softplus(raw_scale))
