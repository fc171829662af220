"""Children made by `fork`, in which JAX would wait for ever."""

import os
import sys

from lupi.errors import UserError

_forked = False
"""Whether this process was made by `fork` from one in which JAX was running."""


def check_not_forked() -> None:
    """Raise where nothing can be computed; call it before computing.

    `fork` copies one thread, and JAX's others, which hold its locks, are gone.
    """
    if _forked:
        raise UserError(
            "this process was made by fork from one in which JAX runs already, and would wait for "
            "ever: use multiprocessing.get_context('spawn') (or 'forkserver', or joblib's default),"
            " or threads."
        )


def _is_running() -> bool:
    """Whether JAX has started its threads; it has no public way to ask."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    asked = getattr(bridge, "backends_are_initialized", None)
    return bridge is not None and (asked is None or asked())


def _mark() -> None:
    global _forked
    _forked = _forked or _is_running()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_mark)
