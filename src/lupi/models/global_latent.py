"""Part 5: a representation to the distribution of the global latent."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import Normal
from lupi.models.layers import MLP, Linear, split_key


class GlobalLatent(eqx.Module):
    r"""$z \sim N(\mu(r), \sigma(r))$, the two functions sharing all layers but the last.

    $\sigma = s + (1 - s)\,\mathrm{sigmoid}(\cdot)$ with the floor $s$ = `min_scale`, 0.1 in the
    paper.
    """

    shared: MLP
    mean: Linear
    scale: Linear
    min_scale: float = eqx.field(static=True)

    def __init__(
        self,
        aggregate_size: int,
        *,
        hidden_size: int,
        global_latent_size: int,
        min_scale: float,
        key: PRNGKeyArray,
    ):
        shared_key, mean_key, scale_key = split_key(key, 3)
        self.shared = MLP((aggregate_size, hidden_size, hidden_size), key=shared_key)
        self.mean = Linear(hidden_size, global_latent_size, key=mean_key)
        self.scale = Linear(hidden_size, global_latent_size, key=scale_key)
        self.min_scale = min_scale

    def __call__(self, representation: Float[Array, "*_ aggregate"]) -> Normal:
        hidden = jax.nn.relu(self.shared(representation))
        scale = self.min_scale + (1 - self.min_scale) * jax.nn.sigmoid(self.scale(hidden))
        return Normal(self.mean(hidden), scale)
