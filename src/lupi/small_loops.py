"""Small loops compiled in one piece.

XLA's code for a CPU runs the body of a loop as a list of kernels, and going from one to the next
takes longer than a product of 16 numbers. Loops that touch few bytes it can compile as one kernel
instead: a step of training on one system then takes about half the time. XLA's own limit is 1 kB;
docs/performance.md has what ours gains.
"""

from collections.abc import MutableMapping

LARGEST_LOOP = 2**17
"""Bytes that the largest such loop may touch."""


def compile_small_loops_whole(environment: MutableMapping[str, str]) -> None:
    """Raise XLA's limit in the environment of a process, unless its user set options like it.

    It must be done before anything is compiled; later it changes nothing.
    """
    flags = environment.get("XLA_FLAGS", "")
    if "--xla_backend_extra_options" not in flags:
        option = f"xla_cpu_small_while_loop_byte_threshold={LARGEST_LOOP}"
        environment["XLA_FLAGS"] = f"{flags} --xla_backend_extra_options={option}".strip()
