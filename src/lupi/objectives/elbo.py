"""The paper's objective (eq. 1)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data import Split
from lupi.distributions import kl_divergence
from lupi.models import NeuralODEProcess


class Elbo(eqx.Module):
    r"""A lower bound of $\log p(y_T | t_T, C)$, to be maximised.

    $$E_{q(z|T,\pi)}\Big[\sum_{i \in T} \log p(y_i | z, t_i)\Big]
      - KL\big(q(z | T, \pi) \,\|\, q'(z | C)\big)$$

    The expectation takes one sample of z, the divergence its closed form. Both are sums, over
    points and dimensions; neither is weighted. For a process without privileged parts this is the
    objective of the neural ODE process.
    """

    def __call__(
        self,
        process: NeuralODEProcess,
        split: Split,
        privileged: Float[Array, " privileged"],
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
        """The loss (the negative bound) of one task, and the terms it is made of."""
        posterior, prior = process.infer_split(split, privileged)
        global_latent = posterior.sample(key)
        # Padding may hold any time, and the solver goes as far as the last one it is given.
        ts = jnp.where(split.target.mask, split.target.ts, 0.0)
        decoded = process.decode(global_latent, ts)
        log_densities = decoded.log_prob(split.target.ys)
        log_likelihood = jnp.sum(log_densities, where=split.target.known)
        kl = jnp.sum(kl_divergence(posterior, prior))
        return kl - log_likelihood, {"log_likelihood": log_likelihood, "kl": kl}
