"""Part 2: many representations to one."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class MeanLogSumExp(eqx.Module):
    r"""$r_X = \oplus_i r_i$: the mean and the LogSumExp over the real points, side by side.

    The LogSumExp, a smooth maximum, also tells how many points there are. Order does not matter.
    With no real point at all both halves are zero.
    """

    def __call__(
        self, representations: Float[Array, "time representation"], mask: Bool[Array, " time"]
    ) -> Float[Array, " aggregate"]:
        real = mask[:, None]
        count = jnp.maximum(mask.sum(), 1)
        mean = jnp.sum(representations, axis=0, where=real) / count
        # Not -inf for the padding: the gradient of LogSumExp at an all -inf column is NaN.
        lowest = jnp.finfo(representations.dtype).min
        logsumexp = jax.nn.logsumexp(jnp.where(real, representations, lowest), axis=0)
        return jnp.concatenate([mean, jnp.where(mask.any(), logsumexp, 0.0)])

    @staticmethod
    def size(representation_size: int) -> int:
        """The size of the aggregate of representations of a given size."""
        return 2 * representation_size
