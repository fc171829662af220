"""The command line: which commands there are, and how mistakes end. A command is imported when it
is called, so that help and completion answer at once."""

import errno
import sys
import warnings
from collections.abc import Callable

from cyclopts import App, CycloptsError

from lupi import __version__
from lupi._machinery.environment import compile_small_loops
from lupi._machinery.pipes import silent_when_closed
from lupi._machinery.stopping import EXIT_STOPPED, stopped_message
from lupi.errors import UserError, UserNotice, printable, settings_problem

EXIT_USER = 2

COMMANDS = {
    "reproduce": "Reproduce the paper: Table 1, its claims and its figures.",
    "compare": "Compare models, rivals and controls: which to use, and do privileged values help?",
    "study": "Study what the paper leaves open: strange systems, few of them, and more.",
    "simulate": "Write a data set of a built-in system.",
    "check": "Say what is understood of a table, and every problem in it.",
    "train": "Train a forecaster on a table of past runs.",
    "predict": "Forecast new runs from a few observations.",
    "evaluate": "Judge a forecaster on runs it has not seen.",
    "serve": "Open a playground in the browser, and answer programs over HTTP.",
    "show": "Say what a forecaster was trained on, and how.",
    "models": "List the models there are, or the settings of one.",
}

app = App(
    suppress_keyboard_interrupt=False,  # `main` says how to go on
    name="lupi",
    version=f"lupi {__version__}",
    help="Forecast dynamical systems from a handful of observations, "
    "learning from information that exists only at training time.",
    help_format="plaintext",  # a quarter sooner than Markdown
)
for name, summary in COMMANDS.items():
    app.command(f"lupi.commands.{name}:{name}", name=name, help=summary)
app.register_install_completion_command(
    help="Let the shell complete commands and options (bash, zsh, fish)."
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a user's mistake ends with one message and exit code 2."""
    compile_small_loops()
    with silent_when_closed():
        _run(arguments)


def _run(arguments: list[str] | None) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserNotice)
            warnings.showwarning = _notice(warnings.showwarning)
            app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except UserError as error:
        _fail(str(error))
    except CycloptsError as error:
        message = settings_problem(error.__cause__) or str(error)
        _fail(f"{message} See `lupi --help`.")
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space" if full else "check the folder and your rights to it"
        _fail(
            f"could not read or write a file: {error.strerror or error}{where}. What was finished "
            f"before is kept: {remedy}, and run the same command again."
        )
    except KeyboardInterrupt as stop:
        print(stopped_message(str(stop)), end="", file=sys.stderr)
        sys.exit(EXIT_STOPPED)


def _notice(others: Callable) -> Callable:
    """How warnings are shown: what users are to notice as a line, others as they were."""

    def show(message, kind, *where, **more) -> None:
        if issubclass(kind, UserNotice):
            print(f"lupi: {printable(str(message))}", file=sys.stderr)
        else:
            others(message, kind, *where, **more)

    return show


def _fail(message: str) -> None:
    print(f"lupi: {printable(message)}", file=sys.stderr)
    sys.exit(EXIT_USER)
