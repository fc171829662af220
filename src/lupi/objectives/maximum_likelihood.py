"""What is asked of a forecast in the end: that the target is likely, given the context."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data import Split
from lupi.distributions import AnyArray, kl_divergence
from lupi.models import AbstractProcess
from lupi.objectives.elbo import Elbo
from lupi.objectives.likelihood import log_likelihoods, log_mean_exp
from lupi.objectives.objective import AbstractObjective, Terms


class MaximumLikelihood(AbstractObjective):
    r"""The log-likelihood of the target by several z of the context (NPML; Foong et al., 2020).

    $$\log \frac{1}{S} \sum_s p(y_T | z_s, t_T), \quad z_s \sim q'(z | C)$$

    Nothing privileged enters but through the costs of a privileged part. From the start it ends
    where z tells nothing and all systems look alike; so training begins with the bound.
    """

    num_samples: int = eqx.field(default=8, static=True)
    """Of z."""
    begins_at: float = eqx.field(default=0.5, static=True)
    """The share of training before which there is the bound, `Elbo`, instead."""
    kl_weight: float = eqx.field(default=1.0, static=True)
    """Of that bound."""

    def at(self, share: float) -> AbstractObjective:
        """The bound, and then this."""
        return self if share >= self.begins_at else Elbo(kl_weight=self.kl_weight)

    def __call__(
        self,
        process: AbstractProcess,
        split: Split,
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Terms]:
        """The loss of one task; its terms are those of the bound, and no part of it."""
        target, context, costs = process.lesson(split, privileged, key=key)
        latents = context.latent.sample(key, (self.num_samples,))
        each = log_likelihoods(process, latents, context.deterministic, split, key=key)
        kl = jnp.sum(kl_divergence(target.latent, context.latent))
        loss = sum(costs.values()) - log_mean_exp(each)
        return loss, {"log_likelihood": jnp.mean(each), "kl": kl} | costs
