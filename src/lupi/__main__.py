"""The program: `lupi`, and `python -m lupi`."""

from lupi._machinery.stopping import EXIT_STOPPED, ignore_signals, leave, stop_on_signals


def run() -> None:
    """Run the command line; stopped at any moment, it ends at once with what it has done saved."""
    stop_on_signals()  # before the imports, which take a while
    from lupi.cli import main

    try:
        main()
    except SystemExit as end:
        if end.code == EXIT_STOPPED:
            leave(EXIT_STOPPED)
        raise
    finally:
        ignore_signals()  # all is done, and the interpreter takes its time to end


if __name__ == "__main__":
    run()
