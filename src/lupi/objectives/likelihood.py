"""How likely the target is, which every objective asks for."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from lupi.data import Split
from lupi.distributions import AnyArray
from lupi.models import AbstractProcess, Sample


def log_likelihood(
    process: AbstractProcess, sample: Sample, split: Split, *, key: PRNGKeyArray
) -> Float[Array, ""]:
    r"""$\sum_{i \in T} \log p(y_i | z, t_i)$, over all values that are known."""
    # Padding may hold any time, and a solver goes as far as the last one it is given.
    ts = jnp.where(split.target.mask, split.target.ts, 0.0)
    densities = process.decode(sample, ts, key=key).log_prob(split.target.ys)
    return jnp.sum(densities, where=split.target.known)


def log_likelihoods(
    process: AbstractProcess,
    latents: Float[AnyArray, "sample latent"],
    deterministic: PyTree[AnyArray],
    split: Split,
    *,
    key: PRNGKeyArray,
) -> Float[Array, " sample"]:
    """The same of each of several z."""

    def one(latent):
        return log_likelihood(process, Sample(latent, deterministic), split, key=key)

    return jax.vmap(one)(latents)


def log_mean_exp(values: Float[Array, " sample"]) -> Float[Array, ""]:
    """The logarithm of the mean of what these are logarithms of."""
    return jax.nn.logsumexp(values) - jnp.log(len(values))
