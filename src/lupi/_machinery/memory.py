"""Keeping workers small."""

import ctypes
import gc
import sys


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
