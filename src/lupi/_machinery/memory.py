"""Keeping within the memory there is."""

import ctypes
import gc
import os
import sys
from pathlib import Path

from lupi.errors import UserError

MOST_MAPPED = 0.7
"""The share of pieces of memory, from which on what is compiled is forgotten: a large program takes
some hundredths of them."""


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raise if something would take more bytes than there are, before it is begun.

    What begins all the same is ended by the system, without a word.
    """
    free = available_memory()
    if free is not None and needed > free:
        raise UserError(
            f"{what} would take about {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB "
            f"are free: {remedy}."
        )


def available_memory() -> int | None:
    """Bytes that this process can still take, as far as the system says."""
    found = [bytes_ for bytes_ in (_of_machine(), *_of_container()) if bytes_ is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return None


def _of_container() -> list[int]:
    """What is left below the limit of a container, where there is one."""
    found = []
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            numbers = [int((Path("/sys/fs/cgroup") / name).read_text()) for name in (limit, used)]
        except (OSError, ValueError):  # another version of them, or no limit ("max")
            continue
        found.append(max(numbers[0] - numbers[1], 0))
    return found


def give_back_memory() -> None:
    """Return freed memory to the system, after work that compiled something large.

    A compiler frees hundreds of megabytes in small pieces, which glibc keeps unless asked; with a
    worker on every core that adds up. Elsewhere than on glibc this only collects garbage.
    """
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def forget_compiled(most: float = MOST_MAPPED) -> None:
    """Let JAX forget what it has compiled, once that takes much of what Linux gives a process.

    Every compiled program maps hundreds of pieces of memory, of which a process may have 65,530 in
    all, and without one left the compiler crashes: nine forecasters, each of other sizes, in one
    program have ended it. What is called again is compiled again.
    """
    if _share_of_mappings() > most:
        import jax

        jax.clear_caches()
        gc.collect()


def _share_of_mappings() -> float:
    """How many of the pieces of memory that this process may map it has mapped."""
    try:
        most = int(Path("/proc/sys/vm/max_map_count").read_text())
        return Path("/proc/self/maps").read_bytes().count(b"\n") / most
    except (OSError, ValueError):  # not on other systems
        return 0.0
