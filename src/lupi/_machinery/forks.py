"""Children made by `fork`, in which JAX would wait for ever."""

import os

from lupi.errors import UserError

_computing: set[int] = set()
"""The process that computes; in a child made by `fork` it is its parent's number that is here."""


def check_not_forked() -> None:
    """Raise in a child of a process that has computed already; call it before computing.

    `fork` copies one thread, and JAX's others, which hold its locks, are gone.
    """
    if not _computing:
        _computing.add(os.getpid())
    elif os.getpid() not in _computing:
        raise UserError(
            "this process was made by fork from one in which JAX has computed already, and would "
            "wait for ever: use multiprocessing.get_context('spawn') (or 'forkserver', joblib's "
            "default), or threads."
        )
