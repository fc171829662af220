"""What is seen of points from other times."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lupi.distributions import AnyArray
from lupi.models.parts.layers import MLP

KEY_SIZE = 8
"""Numbers that say, for each head, where a time is."""


class CrossAttention(eqx.Module):
    """At each time the mean of the values of all real points, weighed by how near they are.

    How near two times are is learnt, by each head for itself: the product of what a network says
    of both. Without any point nothing is seen: zero.
    """

    places: MLP
    heads: int = eqx.field(static=True)

    def __init__(self, heads: int, *, hidden_size: int):
        self.places = MLP((1, hidden_size, hidden_size, heads * KEY_SIZE))
        self.heads = heads

    def __call__(
        self,
        times: Float[AnyArray, " query"],
        ts: Float[AnyArray, " time"],
        values: Float[AnyArray, "time value"],
        mask: Bool[AnyArray, " time"],
    ) -> Float[Array, "query seen"]:
        """What each head sees from `times` of the values at `ts`, side by side."""
        if len(mask) == 0:
            return jnp.zeros((len(times), self.heads * values.shape[-1]))
        queries, keys = (
            self.places(jnp.asarray(some)[:, None]).reshape(len(some), self.heads, KEY_SIZE)
            for some in (times, ts)
        )
        scores = jnp.einsum("qhk,thk->qht", queries, keys) / math.sqrt(KEY_SIZE)
        weights = jax.nn.softmax(jnp.where(mask, scores, jnp.finfo(scores.dtype).min), axis=-1)
        seen = jnp.where(mask.any(), weights @ values, 0.0)
        return seen.reshape(len(times), -1)
