"""How far runs are, on a terminal and in a file."""

import time


def duration(seconds: float) -> str:
    """In words."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 100:
        return f"{round(seconds)} seconds"
    if seconds < 6000:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"


def progress_display(console):
    """A context that gives a function to show `Progress` with."""
    from contextlib import contextmanager

    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn

    @contextmanager
    def live():
        columns = (
            TextColumn("Training"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %, run {task.fields[run]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeLeftColumn(),
        )
        with Progress(*columns, console=console, speed_estimate_period=120) as display:
            bar = display.add_task("", total=None, run="")

            def show(progress) -> None:
                run = f"{min(progress.runs_done + 1, progress.runs)} of {progress.runs}"
                display.update(
                    bar, completed=progress.seconds_done, total=progress.seconds, run=run
                )

            yield show

    @contextmanager
    def lines():
        shown, first, started = -1, 0, time.monotonic()

        def show(progress) -> None:
            nonlocal shown, first
            if progress.runs_done == shown:
                return
            first = progress.seconds_done if shown < 0 else first
            shown, done = progress.runs_done, progress.seconds_done - first
            left = (progress.seconds - progress.seconds_done) / done if done else 0.0
            words = f", about {duration(left * (time.monotonic() - started))} left" if left else ""
            console.print(f"{shown} of {progress.runs} runs done{words}", highlight=False)

        yield show

    return live() if console.is_terminal else lines()
