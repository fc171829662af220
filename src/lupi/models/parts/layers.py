"""The network every part is made of."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lupi.distributions import AnyArray

if TYPE_CHECKING:
    Weight = Any
else:
    Weight = AnyArray | jax.ShapeDtypeStruct
    """Numbers, or the shape of those that are still to come."""


class Linear(eqx.Module):
    """A linear layer along the last axis of its inputs.

    Not equinox's, which computes `weight @ input`: mapped over a batch, that transposes the batch
    before and after each product.
    """

    weight: Float[Weight, "out in"]
    bias: Float[Weight, " out"]

    def __init__(self, in_size: int, out_size: int):
        """The shapes of its weights, which `initialise` gives numbers to."""
        self.weight = jax.ShapeDtypeStruct((out_size, in_size), np.float32)
        self.bias = jax.ShapeDtypeStruct((out_size,), np.float32)

    def initialised(self, draws: Float[AnyArray, " _"], *, gain: float) -> "Linear":
        """The layer with weights made of numbers from -1 to 1, as PyTorch makes its own.

        Uniform up to 1 / sqrt(in_size); `gain` multiplies the weights, not the biases.
        """
        out_size, in_size = self.weight.shape
        limit = 1 / math.sqrt(in_size)
        weights, biases = draws[: in_size * out_size], draws[in_size * out_size :]
        return eqx.tree_at(
            lambda layer: (layer.weight, layer.bias),
            self,
            jax.device_put(
                (
                    (gain * limit * weights).reshape(out_size, in_size),
                    limit * biases[:out_size],
                )
            ),
        )

    def __call__(self, *inputs: Float[AnyArray, "*_ _"]) -> Float[Array, "*_ out"]:
        """Of one or several inputs, side by side along the last axis.

        In parts: to put them side by side would copy them, the shorter ones many times over.
        """
        ends = np.cumsum([x.shape[-1] for x in inputs])
        parts = jnp.split(self.weight, ends[:-1], axis=1)
        products = [x @ weight.T for x, weight in zip(inputs, parts, strict=True)]
        return sum(products[1:], products[0]) + self.bias


class MLP(eqx.Module):
    """Linear layers with an activation between them, as in the paper; none after the last."""

    layers: tuple[Linear, ...]
    activation: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(
        self, sizes: tuple[int, ...], *, activation: Callable[[Array], Array] = jax.nn.relu
    ):
        """`sizes`: of the input, of the hidden layers, of the output."""
        self.layers = tuple(Linear(*pair) for pair in pairwise(sizes))
        self.activation = activation

    def __call__(self, *inputs: Float[AnyArray, "*_ _"]) -> Float[Array, "*_ out"]:
        """Of one or several inputs, side by side along the last axis."""
        x = self.layers[0](*inputs)
        for layer in self.layers[1:]:
            x = layer(self.activation(x))
        return x


@jax.custom_jvp
@jax.jit  # traced once for all its uses, as its derivative is
def softplus(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""$\log(1 + e^x)$, without a logarithm.

    $\max(x, 0) + 2\,\mathrm{artanh}(s)$ with $s = u / (2 + u)$, $u = e^{-|x|}$. As s is at most
    1/3, seven terms of the series leave an error of 1e-8. `jax.nn.softplus` takes several times as
    long, which matters here: it is a third of a solve.
    """
    u = jnp.exp(-jnp.abs(x))
    s = u / (2 + u)
    series = 1 / 13
    for order in (11, 9, 7, 5, 3, 1):
        series = series * s**2 + 1 / order
    return jnp.maximum(x, 0) + 2 * s * series


@softplus.defjvp
@jax.jit
def _softplus_jvp(primals, tangents):
    value = softplus(*primals)
    return value, (1 - jnp.exp(-value)) * tangents[0]
