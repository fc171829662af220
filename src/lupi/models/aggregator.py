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
        self,
        representations: Float[Array, "time representation"],
        mask: Bool[Array, "*set time"],
    ) -> Float[Array, "*set aggregate"]:
        """Of the points that `mask` calls real, or of several such sets at once."""
        real = mask[..., None]
        count = jnp.maximum(mask.sum(axis=-1, keepdims=True), 1)
        mean = jnp.where(real, representations, 0.0).sum(axis=-2) / count
        # Not -inf for the padding: the gradient of LogSumExp at an all -inf column is NaN.
        lowest = jnp.finfo(representations.dtype).min
        logsumexp = jax.nn.logsumexp(jnp.where(real, representations, lowest), axis=-2)
        logsumexp = jnp.where(mask.any(axis=-1, keepdims=True), logsumexp, 0.0)
        return jnp.concatenate([mean, logsumexp], axis=-1)

    @staticmethod
    def size(representation_size: int) -> int:
        """The size of the aggregate of representations of a given size."""
        return 2 * representation_size
