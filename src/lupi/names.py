"""The names a user may choose from; light, so that the command line can check them at once."""

import difflib
from collections.abc import Sequence

from lupi.errors import UserError

TASK_NAMES = ("stiffness", "damping", "lotka-volterra")
MODEL_NAMES = ("nopi", "lupi")
MODE_NAMES = ("test", "train")


def check_name(kind: str, name: str, allowed: Sequence[str]) -> None:
    """Raise if `name` is none of the `allowed` ones, with the nearest as a hint."""
    if name in allowed:
        return
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UserError(f"unknown {kind} {name!r}: expected one of {', '.join(allowed)}.{hint}")
