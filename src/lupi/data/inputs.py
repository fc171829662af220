"""What is known of a system at any time, as a model sees it."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi.distributions import AnyArray

TIMES = 16
"""Over which an average is taken."""


class Inputs(eqx.Module):
    """A path through knots: straight lines between them, level beyond; a jump is two of one time.

    One knot is a constant.
    """

    ts: Float[AnyArray, "*task knot"]
    values: Float[AnyArray, "*task knot input"]

    @property
    def are_constant(self) -> bool:
        """Whether they are the same at all times."""
        return self.ts.shape[-1] == 1

    def average(self) -> Float[Array, " input"]:
        """Over the span of the training data, of one system."""
        return self.at(jnp.linspace(0.0, 1.0, TIMES)).mean(axis=0)

    def at(self, times: Float[AnyArray, " time"]) -> Float[Array, "time input"]:
        """The values at some times, of one system; at a jump the later one."""
        ts, values = jnp.asarray(self.ts), jnp.asarray(self.values)
        if self.are_constant:
            return jnp.broadcast_to(values, (len(times), values.shape[-1]))
        after = jnp.searchsorted(ts, jnp.asarray(times), side="right", method="compare_all")
        left, right = jnp.maximum(after - 1, 0), jnp.minimum(after, len(ts) - 1)
        span = ts[right] - ts[left]
        share = jnp.where(span > 0, (times - ts[left]) / jnp.where(span > 0, span, 1.0), 0.0)
        share = jnp.clip(share, 0.0, 1.0)[:, None]
        return values[left] + share * (values[right] - values[left])
