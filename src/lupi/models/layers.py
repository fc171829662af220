"""The network every part is made of."""

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray


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


def scale_weights(module: eqx.Module, gain: float):
    """A module with the weights of its linear layers multiplied by `gain`; biases stay."""

    def scale(layer):
        if not isinstance(layer, eqx.nn.Linear):
            return layer
        return eqx.tree_at(lambda linear: linear.weight, layer, layer.weight * gain)

    return jax.tree.map(scale, module, is_leaf=lambda node: isinstance(node, eqx.nn.Linear))
