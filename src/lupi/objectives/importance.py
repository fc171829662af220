"""Bounds by several z, each weighed by how much more likely it is than it was to be drawn."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data import Split
from lupi.distributions import AnyArray, kl_divergence
from lupi.models import AbstractProcess
from lupi.objectives.likelihood import log_likelihoods, log_mean_exp
from lupi.objectives.objective import AbstractObjective, Terms


class Renyi(AbstractObjective):
    r"""Rényi's bound (Li and Turner, 2016), between the paper's bound and the log-likelihood.

    $$\frac{1}{1 - \alpha} \log \frac{1}{S} \sum_s w_s^{1 - \alpha}, \quad
      w_s = p(y_T | z_s, t_T)\,\frac{q'(z_s | C)}{q(z_s | T, \pi)}, \quad z_s \sim q(z | T, \pi)$$

    Towards $\alpha = 1$ it is the paper's bound; at 0 it is the importance-weighted one.
    """

    alpha: float = eqx.field(default=0.5, static=True)
    num_samples: int = eqx.field(default=8, static=True)
    """Of z."""

    def __check_init__(self):
        if self.alpha == 1:
            raise ValueError("alpha = 1 is the paper's bound: take `elbo`.")

    def __call__(
        self,
        process: AbstractProcess,
        split: Split,
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Terms]:
        """The loss (the negative bound) of one task; its terms are those of the paper's."""
        target, context, costs = process.lesson(split, privileged, key=key)
        latents = target.latent.sample(key, (self.num_samples,))
        each = log_likelihoods(process, latents, context.deterministic, split, key=key)
        ratios = context.latent.log_prob(latents) - target.latent.log_prob(latents)
        power = 1 - self.alpha
        bound = log_mean_exp(power * (each + jnp.sum(ratios, axis=-1))) / power
        kl = jnp.sum(kl_divergence(target.latent, context.latent))
        loss = sum(costs.values()) - bound
        return loss, {"log_likelihood": jnp.mean(each), "kl": kl} | costs


class ImportanceWeighted(AbstractObjective):
    r"""The importance-weighted bound (Burda et al., 2016): Rényi's at $\alpha = 0$.

    The more samples, the nearer to $\log p(y_T | t_T, C)$; with one it is the paper's bound.
    """

    num_samples: int = eqx.field(default=8, static=True)
    """Of z."""

    def __call__(
        self,
        process: AbstractProcess,
        split: Split,
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Terms]:
        """The loss (the negative bound) of one task; its terms are those of the paper's."""
        bound = Renyi(alpha=0.0, num_samples=self.num_samples)
        return bound(process, split, privileged, key=key)
