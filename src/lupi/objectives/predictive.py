"""What a forecast is worth, as an objective."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data import Split
from lupi.distributions import AnyArray
from lupi.models import AbstractProcess, Sample
from lupi.objectives.objective import AbstractObjective, Terms


class Predictive(AbstractObjective):
    r"""The negative log density of what the context does not show, under the forecast from it.

    $$-\frac{1}{|T \setminus C|} \sum_{i \in T \setminus C}
      \log \frac{1}{S} \sum_s p(y_i | z_s, t_i), \quad z_s \sim q'(z | C)$$

    A proper score of the encoder's forecast at single times. It takes nothing of the target and
    nothing privileged, so that it judges a process as it will be used; little of it is learnt about
    z, which is why training has another objective.
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
        values = split.target.ys

        def one(latent):
            return process.decode(Sample(latent, code.deterministic), ts).log_prob(values)

        each = jax.vmap(one)(code.latent.sample(key, (self.num_samples,)))
        found = jax.nn.logsumexp(each, axis=0) - jnp.log(self.num_samples)
        asked = split.target.known & ~split.in_context[:, None]
        asked = jnp.broadcast_to(asked, values.shape)
        return -jnp.sum(found, where=asked) / jnp.maximum(jnp.sum(asked), 1), {}
