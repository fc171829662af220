"""The network every part is made of."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray


def linear(
    layer: eqx.nn.Linear, *inputs: Float[Array, "*any size_in"]
) -> Float[Array, "*any size_out"]:
    """A layer applied along the last axis of its inputs, side by side.

    Not by the layer's own call, `weight @ input`: mapped over a batch it transposes the batch before
    and after each product. And inputs side by side would be copied, the shorter ones many times
    over.
    """
    ends = np.cumsum([x.shape[-1] for x in inputs])
    parts = jnp.split(layer.weight, ends[:-1], axis=1)
    products = [x @ weight.T for x, weight in zip(inputs, parts, strict=True)]
    return sum(products[1:], products[0]) + layer.bias


class MLP(eqx.Module):
    """Linear layers with an activation between them, as in the paper; none after the last."""

    layers: tuple[eqx.nn.Linear, ...]
    activation: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(
        self,
        sizes: tuple[int, ...],
        *,
        activation: Callable[[Array], Array] = jax.nn.relu,
        key: PRNGKeyArray,
    ):
        """`sizes`: of the input, of the hidden layers, of the output."""
        keys = jax.random.split(key, len(sizes) - 1)
        pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
        self.layers = tuple(eqx.nn.Linear(a, b, key=key) for a, b, key in pairs)
        self.activation = activation

    @property
    def in_size(self) -> int:
        """The size of all inputs together."""
        return self.layers[0].weight.shape[1]

    def __call__(self, *inputs: Float[Array, "*any size_in"]) -> Float[Array, "*any size_out"]:
        """Of one or several inputs, side by side along the last axis."""
        x = linear(self.layers[0], *inputs)
        for layer in self.layers[1:]:
            x = linear(layer, self.activation(x))
        return x


@jax.custom_jvp
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
def _softplus_jvp(primals, tangents):
    value = softplus(*primals)
    return value, (1 - jnp.exp(-value)) * tangents[0]


def scale_weights(module: eqx.Module, gain: float):
    """A module with the weights of its linear layers multiplied by `gain`; biases stay."""

    def scale(layer):
        if not isinstance(layer, eqx.nn.Linear):
            return layer
        return eqx.tree_at(lambda linear: linear.weight, layer, layer.weight * gain)

    return jax.tree.map(scale, module, is_leaf=lambda node: isinstance(node, eqx.nn.Linear))
