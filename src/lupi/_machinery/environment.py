"""Settings that XLA and JAX read from the environment, for our commands and their workers.

Importing lupi sets none of them: they would hold for all of the caller's programs.
"""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

LARGEST_LOOP = 2**17
"""Bytes that the largest loop compiled in one piece may touch."""


def compile_small_loops(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let XLA compile small loops in one piece: training on one system a step takes half the time.

    XLA's code for a CPU runs the body of a loop as a list of kernels, and going from one to the
    next takes longer than a product of 16 numbers. Loops that touch few bytes it can compile as one
    kernel instead. Its own limit is 1 kB, this makes it 128 kB, through `XLA_FLAGS`: for all that
    this process compiles from now on, so call it before JAX computes anything. Flags that are there
    already stay, and are left alone where they hold options like it.

    lupi's commands do this themselves. docs/performance.md has what it gains; batches of eight
    series or more hardly need it.
    """
    flags = environment.get("XLA_FLAGS", "")
    if "--xla_backend_extra_options" not in flags:
        option = f"xla_cpu_small_while_loop_byte_threshold={LARGEST_LOOP}"
        environment["XLA_FLAGS"] = f"{flags} --xla_backend_extra_options={option}".strip()


def worker_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What a worker process is started with, beside all that this one has."""
    flags = f"{environment.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    chosen = {
        # One core a worker: left alone, each would start threads for all cores and they would
        # fight. NPROC is what XLA takes for the number of cores; handing small work from one
        # thread to another takes longer than doing it.
        "NPROC": "1",
        "XLA_FLAGS": flags,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # Functions with error callbacks, diffrax's, cannot be kept: a failing simulation gives NaN
        # instead, and `simulate` says so.
        "EQX_ON_ERROR": "nan",
    }
    # Compiled once, used by all workers and by the next command.
    chosen |= kept_compiled(environment)
    compile_small_loops(chosen)
    return chosen


def num_threads(environment: Mapping[str, str] = os.environ) -> int:
    """How many calls this process may compute side by side: one for each of its cores, or as many
    as XLA is told that there are."""
    told = environment.get("NPROC", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def kept_compiled(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What lets a process find again what another has compiled, and keep what it compiles."""
    cache = environment.get("JAX_COMPILATION_CACHE_DIR", _cache_folder(environment))
    if cache is None:
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def _cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Where this user keeps what can be made again; none where there is no home, as in containers
    that run as a user whom the system does not know."""
    base = environment.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "lupi" / "compiled"
    except RuntimeError:
        return None
