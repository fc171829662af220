"""First weights."""

from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from lupi._machinery.compilation import compiled, is_traced, padded_size
from lupi.models.keys import code_of
from lupi.models.parts.layers import Linear


def initialise(process: Any, *, gain: float, key: PRNGKeyArray) -> Any:
    """A process whose layers have numbers in the place of shapes.

    Those of a layer depend on `key`, the layer's name, such as `decoder.mlp.layers[0]`, and its
    size: not on which other parts there are.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(process, is_leaf=_is_layer)
    layers = {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in leaves}
    names = [name for name, leaf in layers.items() if _is_layer(leaf)]
    others = [name for name, leaf in layers.items() if isinstance(leaf, jax.ShapeDtypeStruct)]
    if others:
        raise TypeError(f"only linear layers begin as shapes, but {', '.join(others)} does too.")
    sizes = {name: padded_size(_size(layers[name]), 1024) for name in names}
    for size in sorted(set(sizes.values())):
        # Of few sizes, all of one size at once: every other one would be compiled apart.
        some = [name for name in names if sizes[name] == size]
        codes = np.array([code_of(name) for name in some], np.uint32)
        draws = compiled(_draw, brief=True)(key, codes, size)
        draws = draws if is_traced(draws) else np.asarray(draws)
        for name, numbers in zip(some, draws, strict=True):
            layers[name] = layers[name].initialised(numbers, gain=gain)
    return jax.tree.unflatten(structure, list(layers.values()))


def _is_layer(node: Any) -> bool:
    return isinstance(node, Linear)


def _size(layer: Linear) -> int:
    out_size, in_size = layer.weight.shape
    return out_size * (in_size + 1)


def _draw(key, codes, size: int):
    keys = jax.vmap(lambda code: jax.random.fold_in(key, code))(codes)
    return jax.vmap(lambda key: jax.random.uniform(key, (size,), minval=-1.0, maxval=1.0))(keys)
