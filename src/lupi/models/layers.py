"""The network every part is made of."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.compilation import compiled


def split_key(key: PRNGKeyArray, number: int) -> tuple[PRNGKeyArray, ...]:
    """The keys of `jax.random.split`."""
    if number > 8:
        return tuple(jax.random.split(key, number))
    # It would be compiled for every number; but the first keys are the same whatever the number.
    return compiled(_split_in_eight, brief=True)(key)[:number]


def _split_in_eight(key: PRNGKeyArray) -> tuple[PRNGKeyArray, ...]:
    return tuple(jax.random.split(key, 8))


class Linear(eqx.Module):
    """A linear layer along the last axis of its inputs.

    Not equinox's, which computes `weight @ input`: mapped over a batch, that transposes the batch
    before and after each product.
    """

    weight: Float[Array, "out in"]
    bias: Float[Array, " out"]

    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray):
        """Weights and biases as PyTorch draws them: uniform, up to 1 / sqrt(in_size)."""
        weight_key, bias_key = split_key(key, 2)
        limit = 1 / math.sqrt(in_size)
        self.weight = _draw((out_size, in_size), limit, key=weight_key)
        self.bias = _draw((out_size,), limit, key=bias_key)

    def __call__(self, *inputs: Float[Array, "*_ _"]) -> Float[Array, "*_ out"]:
        """Of one or several inputs, side by side along the last axis.

        In parts: to put them side by side would copy them, the shorter ones many times over.
        """
        ends = np.cumsum([x.shape[-1] for x in inputs])
        parts = jnp.split(self.weight, ends[:-1], axis=1)
        products = [x @ weight.T for x, weight in zip(inputs, parts, strict=True)]
        return sum(products[1:], products[0]) + self.bias


def _draw(shape: tuple[int, ...], limit: float, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Uniform numbers between -limit and limit."""
    size = math.prod(shape)
    # One of few sizes, and cut by NumPy: every other shape would be compiled apart.
    draws = compiled(_uniform, brief=True)(key, max(1024, 1 << (size - 1).bit_length()))
    return jax.device_put(limit * _for_numpy(draws)[:size].reshape(shape))


def _for_numpy(array: Array) -> Array | np.ndarray:
    """An array on which arithmetic is NumPy's, unless it is traced: JAX would compile it for every
    shape."""
    return array if isinstance(array, Tracer) else np.asarray(array)


def _uniform(key: PRNGKeyArray, size: int) -> Float[Array, " size"]:
    return jax.random.uniform(key, (size,), minval=-1.0, maxval=1.0)


class MLP(eqx.Module):
    """Linear layers with an activation between them, as in the paper; none after the last."""

    layers: tuple[Linear, ...]
    activation: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(
        self,
        sizes: tuple[int, ...],
        *,
        activation: Callable[[Array], Array] = jax.nn.relu,
        key: PRNGKeyArray,
    ):
        """`sizes`: of the input, of the hidden layers, of the output."""
        keys = split_key(key, len(sizes) - 1)
        pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
        self.layers = tuple(Linear(a, b, key=key) for a, b, key in pairs)
        self.activation = activation

    @property
    def in_size(self) -> int:
        """The size of all inputs together."""
        return self.layers[0].weight.shape[1]

    def __call__(self, *inputs: Float[Array, "*_ _"]) -> Float[Array, "*_ out"]:
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


def scale_weights(module: eqx.Module, gain: float):
    """A module with the weights of its linear layers multiplied by `gain`; biases stay."""

    def scale(layer):
        if not isinstance(layer, Linear):
            return layer
        weight = jax.device_put(gain * _for_numpy(layer.weight))
        return eqx.tree_at(lambda linear: linear.weight, layer, weight)

    return jax.tree.map(scale, module, is_leaf=lambda node: isinstance(node, Linear))
