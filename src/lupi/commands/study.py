"""`lupi study`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lupi._machinery.stopping import told_if_stopped
from lupi.commands.options import GOES_ON, Names, Whole, split_names
from lupi.commands.progress import duration, progress_display
from lupi.errors import UserError, check_name, check_whole, printable


def study(
    *,
    parts: Names | None = None,
    seeds: Whole | None = None,
    out: Path | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    workers: Whole | None = None,
) -> None:
    """Study what the paper leaves open: strange systems, few of them, narrow networks and more.

    Each part says how long it takes before it starts, and keeps its runs in a folder of its name;
    report.html has the answers. Stop it at any time: the same command goes on where it stopped.

    Parameters
    ----------
    parts
        Which of generalisation, samples, width, longer and functions. Default: all.
    seeds
        How many seeds, from 0 on. Default: 3, or 2 with --quick.
    out
        The output folder. Default: study, with -quick behind.
    quick
        A smoke run that does everything on next to no data; its numbers mean nothing.
    workers
        Runs at the same time. Default: one for each core.
    """
    for name, value in (("seeds", seeds), ("workers", workers)):
        if value is not None:
            check_whole(f"--{name}", value, least=1)
    from loky import cpu_count
    from rich.console import Console

    from lupi import experiments as stage
    from lupi.experiments.study import PARTS
    from lupi.report.study import write_study

    chosen = tuple(PARTS) if parts is None else split_names(parts)
    if not chosen:
        raise UserError("expected at least one part, got none: name some, or leave it out.")
    for name in chosen:
        check_name("part", name, PARTS)
    console = Console()
    out = out or Path("study" + "-quick" * quick)
    if out.exists() and not out.is_dir():
        raise UserError(f"expected a folder at {out}, found a file: give another --out.")
    if out.exists() and any(out.iterdir()) and not any((out / name).is_dir() for name in PARTS):
        raise UserError(
            f"{out} is not empty and holds no results of `lupi study`: give another --out, or "
            "empty the folder. Nothing there was changed."
        )
    seeds, workers = seeds or (2 if quick else 3), workers or cpu_count()
    found = []
    for name in dict.fromkeys(chosen):
        part = PARTS[name](quick)
        who = stage.all_contestants(part.models)
        expected = stage.expected_seconds(
            part.settings, who, part.experiments, seeds=seeds, workers=workers
        )
        runs = len(who) * len(part.experiments) * seeds
        console.print(
            f"[bold]{part.title}[/]: {runs} runs, about {duration(expected)} on {workers} cores, "
            f"less what {out / name} has already.",
            highlight=False,
        )
        with told_if_stopped(lambda: GOES_ON), progress_display(console) as on_progress:
            results = stage.reproduce(
                part.settings,
                out / name,
                experiments=part.experiments,
                models=part.models,
                seeds=seeds,
                workers=workers,
                keep_going=True,
                on_progress=on_progress,
            )
        found.append((part, results))
    with told_if_stopped(lambda: GOES_ON), console.status("Drawing figures and writing the report"):
        shown = write_study(out, found)
    for one in shown:
        console.print(f"\n[bold]{one.title}[/]")
        for sentence in one.answer:
            console.print(f"  {sentence}", highlight=False, markup=False)
        for failure in one.failures:
            console.print(printable(f"  failed: {failure}"), style="red", markup=False)
    console.print(f"\nReport: {out / 'report.html'}")
