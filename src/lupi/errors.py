"""The one error that is a user's to mend."""


class UserError(ValueError):
    """Says what was expected, what arrived and what to do.

    The command line prints its message alone and exits with 2; any other exception is a fault of
    ours and keeps its traceback.
    """


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
