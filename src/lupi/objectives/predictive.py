"""What a forecast is worth, as an objective."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data import Split
from lupi.distributions import AnyArray, NormalMixture
from lupi.models import AbstractProcess, Sample
from lupi.objectives.objective import AbstractObjective, Terms


class Predictive(AbstractObjective):
    r"""The continuous ranked probability score of what the context does not show.

    Under the forecast from the context; the mean over these values, in the model's units.

    The forecast is the mixture of the Normals that samples $z_s \sim q'(z | C)$ decode to. A proper
    score of the encoder's forecast at single times. It takes nothing of the target and nothing
    privileged, so that it judges a process as it will be used; little of it is learnt about z,
    which is why training has another objective. Not the log density: as the decoder comes to know
    its systems, its scale falls far below the error of the encoder's guess. The density then says
    that a process gets worse, while its guesses and all that inference makes of them get better.
    """

    num_samples: int = eqx.field(default=8, static=True)

    def __call__(
        self,
        process: AbstractProcess,
        split: Split,
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Terms]:
        """The loss of one task; it has no terms."""
        code = process.encode(split.context)
        ts = jnp.where(split.target.mask, split.target.ts, 0.0)

        def one(latent):
            return process.decode(Sample(latent, code.deterministic), ts)

        decoded = jax.vmap(one)(code.latent.sample(key, (self.num_samples,)))
        found = NormalMixture(decoded.loc, decoded.scale).crps(split.target.ys)
        asked = split.target.known & ~split.in_context[:, None]
        asked = jnp.broadcast_to(asked, found.shape)
        return jnp.sum(found, where=asked) / jnp.maximum(jnp.sum(asked), 1), {}
