"""Part 2: many representations to one."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lupi.distributions import AnyArray


class MeanLogSumExp(eqx.Module):
    r"""$r_X = \oplus_i r_i$: the mean and the LogSumExp over the real points, side by side.

    The LogSumExp, a smooth maximum, also tells how many points there are. Order does not matter.
    With no real point at all both halves are zero.
    """

    def __call__(
        self,
        representations: Float[AnyArray, "time representation"],
        mask: Bool[AnyArray, " time"],
    ) -> Float[Array, " aggregate"]:
        """Of the points that `mask` calls real."""
        if len(mask) == 0:
            return jnp.zeros(self.size(representations.shape[-1]))
        real = mask[:, None]
        count = jnp.maximum(mask.sum(), 1)
        mean = jnp.where(real, representations, 0.0).sum(axis=0) / count
        # Not -inf for the padding: the gradient of LogSumExp at an all -inf column is NaN.
        lowest = jnp.finfo(representations.dtype).min
        logsumexp = jax.nn.logsumexp(jnp.where(real, representations, lowest), axis=0)
        logsumexp = jnp.where(mask.any(), logsumexp, 0.0)
        return jnp.concatenate([mean, logsumexp])

    @staticmethod
    def size(representation_size: int) -> int:
        """The size of the aggregate of representations of a given size."""
        return 2 * representation_size
