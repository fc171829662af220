"""The network every part is made of."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


def mlp(
    in_size: int,
    out_size: int,
    hidden_size: int,
    *,
    activation=jax.nn.relu,
    key: PRNGKeyArray,
) -> eqx.nn.MLP:
    """The paper's three-layer network: two hidden layers, nothing applied to the output."""
    return eqx.nn.MLP(in_size, out_size, hidden_size, 2, activation=activation, key=key)


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
