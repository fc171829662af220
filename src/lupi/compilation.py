"""How much of XLA's optimiser a compiled function is worth.

On networks this small, compiling takes longer than most of what is compiled runs. Two settings
cover all of it; docs/performance.md has what each costs and gains.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
from jax.core import Tracer

OPTIMISED: dict[str, bool | int] = {"xla_backend_optimization_level": 1}
"""For what runs for long. XLA's own default, level 3, compiles a third longer to code that is no
faster here."""

SOON_READY: dict[str, bool | int] = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
}
"""For what runs briefly: compiled about five times sooner, and about seven times slower."""


@cache
def compiled(function: Callable, *, brief: bool) -> Callable:
    """The function, compiled at its first call: to be ready soon if `brief`, else to run fast.

    Arguments that are not arrays are compiled in. Inside another compiled function it becomes a
    part of that one.
    """
    options = SOON_READY if brief else OPTIMISED
    jit: Any = eqx.filter_jit  # whose types leave out the arguments of jax.jit
    jitted = jit(function, compiler_options=options)

    def call(*arguments):
        # JAX refuses options inside another compiled function.
        inside = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(arguments))
        return function(*arguments) if inside else jitted(*arguments)

    return call
