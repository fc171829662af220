"""How much of XLA's optimiser a compiled function is worth.

On networks this small, compiling takes longer than most of what is compiled runs. Two settings
cover all of it; docs/performance.md has what each costs and gains.
"""

import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from lupi._machinery.forks import check_not_forked
from lupi._machinery.memory import forget_compiled

ON_ONE_THREAD: dict[str, bool | int | str] = {
    "xla_cpu_multi_thread_eigen": False,
    "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
}
"""Work this small takes longer to hand to other threads than to do; several calls on threads of
their own keep all cores busy."""

OPTIMISED = ON_ONE_THREAD | {"xla_backend_optimization_level": 1}
"""For what runs for long. XLA's own default, level 3, compiles a third longer to code that is no
faster here."""

SOON_READY = ON_ONE_THREAD | {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
}
"""For what runs briefly: compiled about five times sooner, and about seven times slower."""


LONG = 0.5
"""Seconds, from which on a call may have compiled something: to look at what there is takes some
milliseconds."""


def compiled(function: Callable, *, brief: bool, double: bool = False) -> Callable:
    """The function, compiled at its first call: to be ready soon if `brief`, else to run fast.

    It computes in float32, or in float64 if `double`, whatever precision the caller has switched
    on: the same numbers come out. Arguments that are not arrays are compiled in. Inside another
    compiled, mapped or differentiated function it becomes a part of that one; where none of its
    arguments depends on that function's own, it is computed at once, while the other is traced.
    """
    return _compiled(function, tuple((SOON_READY if brief else OPTIMISED).items()), double)


@cache
def _compiled(
    function: Callable, options: tuple[tuple[str, bool | int | str], ...], double: bool
) -> Callable:
    jit: Any = eqx.filter_jit  # whose types leave out the arguments of jax.jit
    jitted = jit(function, compiler_options=dict(options))

    def run(*arguments):
        check_not_forked()
        started = time.perf_counter()
        try:
            return jitted(*arguments)
        except ValueError as error:  # JAX refuses options inside another compiled function
            if "compiler_options" not in str(error):
                raise
            with jax.ensure_compile_time_eval():
                return jitted(*arguments)
        finally:
            # Not in a thread of ours: others beside it may be compiling.
            is_main = threading.current_thread() is threading.main_thread()
            if is_main and time.perf_counter() - started > LONG:
                forget_compiled()

    def call(*arguments):
        if is_traced(arguments):
            return function(*arguments)
        if jax.config.read("jax_enable_x64") == double:
            return run(*arguments)
        with jax.enable_x64(double):
            return run(*jax.tree.map(_of_host, arguments))

    return call


def _of_host(leaf: Any) -> Any:
    """An array of numbers as NumPy's, which JAX takes in the precision that is switched on."""
    is_numbers = isinstance(leaf, jax.Array) and isinstance(leaf.dtype, np.dtype)
    return np.asarray(leaf) if is_numbers else leaf


def is_traced(tree: Any) -> bool:
    """Whether something in it is known only to a function that is being traced."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def padded_size(size: int, smallest: int) -> int:
    """The next power of two, or `smallest`: of few sizes, so that few are compiled."""
    return max(smallest, 1 << (size - 1).bit_length())
