"""The one error that is a user's to mend, and what a user is to notice."""

import difflib
from collections.abc import Iterable
from unicodedata import category


class UserError(ValueError):
    """Says what was expected, what arrived and what to do.

    The command line prints its message alone and exits with 2; any other exception is a fault of
    ours and keeps its traceback.
    """


class UserNotice(UserWarning):
    """Says what a user should know of a result that is there all the same.

    A warning in Python; the command line prints its message as a line on the error stream.
    """


def printable(text: str) -> str:
    """The text without characters that would make a terminal do something else than show them."""
    return "".join(
        ascii(letter)[1:-1] if letter not in "\n\t" and category(letter) in ("Cc", "Cs") else letter
        for letter in text
    )


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
