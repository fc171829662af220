"""The paper's objective (eq. 1)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data import Split
from lupi.distributions import AnyArray, kl_divergence
from lupi.models import AbstractProcess, Sample
from lupi.objectives.likelihood import log_likelihood
from lupi.objectives.objective import AbstractObjective, Terms


class Elbo(AbstractObjective):
    r"""A lower bound of $\log p(y_T | t_T, C)$, to be maximised.

    $$E_{q(z|T,\pi)}\Big[\sum_{i \in T} \log p(y_i | z, t_i)\Big]
      - KL\big(q(z | T, \pi) \,\|\, q'(z | C)\big)$$

    The expectation takes one sample of z, the divergence its closed form. Both are sums, over
    points and dimensions; neither is weighted, unless `kl_weight` says so. For a process without
    privileged parts this is the objective of the neural ODE process; for one with a deterministic
    part, which is always that of the context, that of the neural process; and without a latent the
    log-likelihood of a conditional neural process.
    """

    kl_weight: float = eqx.field(default=1.0, static=True)
    """Factor on the divergence; 1 is the bound. With less, z costs less than it tells, and training
    does not end where z tells nothing and all systems look alike."""

    def __call__(
        self,
        process: AbstractProcess,
        split: Split,
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Terms]:
        """The loss (the negative bound) of one task, and the terms it is made of."""
        target, context, costs = process.lesson(split, privileged, key=key)
        sample = Sample(target.latent.sample(key), context.deterministic)
        likelihood = log_likelihood(process, sample, split, key=key)
        kl = jnp.sum(kl_divergence(target.latent, context.latent))
        loss = self.kl_weight * kl - likelihood + sum(costs.values())
        return loss, {"log_likelihood": likelihood, "kl": kl} | costs
