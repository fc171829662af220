"""The two distributions that everything here is made of.

numpyro has them, and is welcome wherever a `Distribution` is asked for. But importing it takes half
a second, a tenth of what it takes to start training.
"""

import math
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.errors import UserError


@runtime_checkable
class Distribution(Protocol):
    """What numbers can be drawn from, such as a distribution of numpyro."""

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        """One number."""
        ...


class Uniform(eqx.Module):
    """Every number from `low` to `high` is equally likely."""

    low: float
    high: float

    def __check_init__(self):
        if not self.low < self.high:
            raise UserError(
                f"Uniform needs a lower and a higher number, got {self.low} and {self.high}: swap "
                "them, or give a plain number where nothing varies."
            )

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        """One number."""
        return jax.random.uniform(key, (), minval=self.low, maxval=self.high)


class Normal(eqx.Module):
    """Independent Normal distributions, one for each entry of the mean and the scale."""

    loc: Float[Array, "*shape"]
    scale: Float[Array, "*shape"]

    def sample(
        self, key: PRNGKeyArray, shape: tuple[int, ...] = ()
    ) -> Float[Array, "*sample_and_shape"]:
        """An array of samples of this shape, or one."""
        return self.loc + self.scale * jax.random.normal(key, (*shape, *self.loc.shape))

    def log_prob(self, value: Float[Array, "*#shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the density at each value."""
        distance = (value - self.loc) / self.scale
        return -0.5 * distance**2 - jnp.log(math.sqrt(2 * math.pi) * self.scale)


def kl_divergence(p: Normal, q: Normal) -> Float[Array, "*shape"]:
    r"""$KL(p \,\|\, q) = E_p[\log p - \log q]$ of each entry."""
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - jnp.log(ratio))
