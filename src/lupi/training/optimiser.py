"""How gradients become steps."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax.contrib import MuonDimensionNumbers, muon

from lupi._machinery.compilation import compiled
from lupi.training.settings import TrainingSettings

LIKE_ADAM = 0.2
"""The root mean square of an entry of Muon's step that makes it as long as one of Adam's, so that
one learning rate serves both."""


REST = "rest"
"""The stack of all that is no matrix."""


def make_optimiser(settings: TrainingSettings, num_tasks: int) -> optax.GradientTransformation:
    """The optimiser for so many tasks."""
    rate = settings.learning_rate
    if settings.decay:
        total = num_tasks // settings.batch_size * settings.num_epochs(num_tasks)
        rate = optax.warmup_cosine_decay_schedule(0.0, rate, total // 20, total)
    # On few long arrays instead of one per layer: less time per step, and less to compile.
    if settings.optimiser == "muon":
        steps = muon(rate, consistent_rms=LIKE_ADAM, muon_weight_dimension_numbers=_dimensions)
        steps = _stacked(steps)
    else:
        steps = optax.flatten(optax.adam(rate))
    if settings.max_gradient is not None:
        steps = optax.chain(optax.clip_by_global_norm(settings.max_gradient), steps)
    return steps


def initial_state(weights, settings: TrainingSettings, num_tasks: int):
    """The optimiser's state of each process, of stacked weights."""
    return compiled(_begin, brief=True)(weights, settings.of_steps(), num_tasks)


def _begin(weights, settings: TrainingSettings, num_tasks: int):
    return jax.vmap(make_optimiser(settings, num_tasks).init)(weights)


def _stacked(inner: optax.GradientTransformation) -> optax.GradientTransformation:
    """`inner`, on the matrices of each shape as one array and all other weights as one vector."""

    def init(params):
        return inner.init(_stack(params))

    def update(updates, state, params=None):
        steps, state = inner.update(_stack(updates), state, _stack(params))
        return _unstack(steps, updates), state

    return optax.GradientTransformation(init, update)


def _places(tree) -> dict[str, list[int]]:
    """The leaves of each stack, by its name: wide and tall matrices of the same sizes share one."""
    places: dict[str, list[int]] = {}
    for i, leaf in enumerate(jax.tree.leaves(tree)):
        name = "x".join(map(str, sorted(leaf.shape))) if leaf.ndim == 2 else REST
        places.setdefault(name, []).append(i)
    return places


def _wide(leaf):
    return leaf.T if leaf.shape[0] > leaf.shape[1] else leaf


def _stack(tree) -> dict[str, jax.Array]:
    leaves = jax.tree.leaves(tree)
    return {
        name: jnp.concatenate([jnp.ravel(leaves[i]) for i in places])
        if name == REST
        else jnp.stack([_wide(leaves[i]) for i in places])
        for name, places in _places(tree).items()
    }


def _unstack(stacks: Any, like):
    leaves, structure = jax.tree.flatten(like)
    for name, places in _places(like).items():
        if name == REST:
            ends = np.cumsum([leaves[i].size for i in places])
            parts = jnp.split(stacks[name], ends[:-1])
            found = [part.reshape(leaves[i].shape) for part, i in zip(parts, places, strict=True)]
        else:
            tall = [leaves[i].shape[0] > leaves[i].shape[1] for i in places]
            found = [x.T if t else x for x, t in zip(stacks[name], tall, strict=True)]
        for i, leaf in zip(places, found, strict=True):
            leaves[i] = leaf
    return jax.tree.unflatten(structure, leaves)


def _dimensions(stacks: Any) -> Any:
    """What Muon is told: each stack holds matrices, and Adam takes the rest."""
    matrices = MuonDimensionNumbers(reduction_axis=1, output_axis=2)
    return {name: None if name == REST else matrices for name in stacks}
