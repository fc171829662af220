"""The one error that is a user's to mend."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Says what was expected, what arrived and what to do.

    The command line prints its message alone and exits with 2; any other exception is a fault of
    ours and keeps its traceback.
    """


def check_name(kind: str, name: str, allowed: Iterable[str]) -> None:
    """Raise if `name` is none of the `allowed` ones, with the nearest as a hint."""
    allowed = tuple(allowed)
    if name in allowed:
        return
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UserError(f"unknown {kind} {name!r}: expected one of {', '.join(allowed)}.{hint}")


def settings_problem(error: BaseException | None) -> str | None:
    """A pydantic error in one line for each setting, or nothing if it is another error."""
    if error is None or type(error).__name__ != "ValidationError":
        return None
    lines = []
    for problem in error.errors():  # pyright: ignore[reportAttributeAccessIssue]
        name = ".".join(str(part) for part in problem["loc"] if part != "nullable")
        arrived = f", got {problem['input']!r}" if problem["type"] != "missing" else ""
        lines.append(f"setting {name}: {problem['msg']}{arrived}")
    return "; ".join(lines) + "."
