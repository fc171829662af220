"""The one error that is a user's to mend, and what a user is to notice."""

import difflib
import operator
from collections.abc import Iterable
from typing import Any
from unicodedata import category

MOST_SEEDS = 2**32
"""Seeds are below; larger ones would mean the same as others."""


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
    if text.isprintable():
        return text
    return "".join(
        ascii(letter)[1:-1] if letter not in "\n\t" and category(letter) in ("Cc", "Cs") else letter
        for letter in text
    )


def check_name(kind: str, name: Any, allowed: Iterable[str]) -> None:
    """Raise if `name` is none of the `allowed` ones, with the nearest as a hint."""
    allowed = tuple(allowed)
    if isinstance(name, str) and name in allowed:
        return
    close = difflib.get_close_matches(str(name), allowed, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UserError(f"unknown {kind} {name!r}: expected one of {', '.join(allowed)}.{hint}")


def check_whole(name: str, number: Any, *, least: int = 0, most: int = 2**31 - 1) -> int:
    """The number, if it is whole and within these bounds; nothing is rounded."""
    try:
        whole = None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        whole = None
    if whole is None or not least <= whole <= most:
        raise UserError(
            f"{name} must be a whole number from {least} to {most}, got {_brief(number)}."
        )
    return whole


def check_seed(seed: Any) -> int:
    """The seed, if it is one."""
    return check_whole("the seed", seed, most=MOST_SEEDS - 1)


def _brief(value: Any) -> str:
    """A value in a few words; of a number too long to be written its type."""
    try:
        return f"{value!r:.40}"
    except ValueError:
        return f"a very long {type(value).__name__}"


def settings_problem(error: BaseException | None) -> str | None:
    """A pydantic error in one line for each setting, or nothing if it is another error."""
    if error is None or type(error).__name__ != "ValidationError":
        return None
    lines = []
    for problem in error.errors():  # pyright: ignore[reportAttributeAccessIssue]
        name = ".".join(str(part) for part in problem["loc"] if part != "nullable")
        arrived = f", got {_brief(problem['input'])}" if problem["type"] != "missing" else ""
        lines.append(f"setting {name}: {problem['msg']}{arrived}")
    return "; ".join(lines) + "."
