"""Part 5: a representation to the distribution of the global latent."""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from lupi.distributions import Normal
from lupi.models.parts.layers import MLP, Linear


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
    ):
        sizes = (aggregate_size, hidden_size, hidden_size)
        self.shared = MLP(sizes)
        heads = {name: Linear(hidden_size, global_latent_size) for name in ("mean", "scale")}
        self.mean, self.scale = heads["mean"], heads["scale"]
        self.min_scale = min_scale

    def __call__(self, representation: Float[Array, " aggregate"]) -> Normal:
        hidden = jax.nn.relu(self.shared(representation))
        scale = self.min_scale + (1 - self.min_scale) * jax.nn.sigmoid(self.scale(hidden))
        return Normal(self.mean(hidden), scale)
