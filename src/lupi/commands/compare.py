"""`lupi compare`."""

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lupi._machinery.stopping import told_if_stopped
from lupi.commands.options import GOES_ON, ColumnOptions, Names, Whole, split_names
from lupi.commands.progress import duration, progress_display
from lupi.errors import UserError, check_whole, printable


def compare(
    file: str | None = None,
    /,
    *,
    columns: ColumnOptions | None = None,
    experiments: Names | None = None,
    models: Names | None = None,
    seeds: Whole | None = None,
    steps: Whole | None = None,
    preset: str = "best",
    noise: float = 0.0,
    out: Path | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    workers: Whole | None = None,
) -> None:
    """Compare models, rivals and controls: which to use, and do privileged values help?

    On your own table, or on built-in experiments. Every model is judged on the same new systems,
    with its encoder alone and with the search in its decoder; rivals are what one would use instead
    of a network. Writes results.json, comparison.md, figures/ and report.html into the output
    folder. Stop it at any time: the same command goes on where it stopped.

    Parameters
    ----------
    file
        A table of past runs, with the options of its columns. Default: the built-in experiments.
    experiments
        Which of the built-in experiments: stiffness, damping, lotka-volterra, pendulum, epidemic,
        drug, line-and-sine. Default: the first three.
    models
        Models (`lupi models` lists them), rivals (mean, last-value, nearest, pooled-gp, gp,
        neural-ode, anode, sonode, equations, ideal) and controls: lupi:shuffled, lupi:constant and
        lupi:noise are shown privileged values of other systems, always the same, and noise;
        lupi:noise=0.5 true ones with noise of so many standard deviations. lupi:amortised is judged
        with its encoder alone, lupi:width=4 has hidden layers of that width, np-lupi:way=head uses
        privileged values in another way, np:aggregator=bayesian has another aggregator,
        latent-ode:objective=npml another objective.
    seeds
        How many seeds, from 0 on. Everyone shares data, contexts and initial weights of a seed.
        Default: 3, or 2 with --quick.
    steps
        Of training. Default: 5,000; with --preset paper the paper's.
    preset
        best: models and training as forecast best. paper: the paper's.
    noise
        Of every observation of simulated systems, in standard deviations of each quantity.
    out
        The output folder. Default: comparison, with -quick behind.
    quick
        A smoke run that does everything on next to no data; its numbers mean nothing.
    workers
        Runs at the same time. Default: one for each core.
    """
    for name, value in (("seeds", seeds), ("steps", steps), ("workers", workers)):
        if value is not None:
            check_whole(f"--{name}", value, least=1)
    if not 0 <= noise < float("inf"):
        raise UserError(f"--noise must be 0 or more, got {noise}: try 0.1.")
    if file is not None and (experiments is not None or noise):
        raise UserError(
            "--experiments and --noise are of simulated systems, and a table was given: leave out "
            "one or the other."
        )
    if (file is None) != (columns is None):
        raise UserError(
            "a table needs --time and --observed, and these need a table: `lupi compare runs.csv "
            "--series run --time t --observed x,y --privileged k`."
        )
    from loky import cpu_count
    from rich.console import Console

    from lupi import experiments as stage
    from lupi.report.comparison import to_terminal, write_comparison

    console = Console()
    if file is not None and columns is not None:
        from lupi.data.reading import read_series

        table = read_series(file, **columns.as_arguments())
        name = re.sub(r"[^\w-]+", "-", Path(file).stem).strip("-") or "table"
        name += "-table" if name in stage.EXPERIMENTS else ""
        chosen = {name: stage.Experiment.of_table(table, title=Path(file).name)}
    else:
        default = ("stiffness",) if quick else tuple(stage.EXPERIMENTS)
        names = default if experiments is None else split_names(experiments)
        chosen = {name: stage.get_experiment(name) for name in names}
    if models is None:
        asked = stage.default_contestants(chosen.values(), quick=quick)
    else:
        asked = split_names(models)
    who = stage.all_contestants(asked)
    stage.check_contestants(who, chosen)
    settings = stage.comparison_settings(
        who, chosen, preset=preset, steps=steps, noise=noise, quick=quick
    )
    seeds, workers = seeds or (2 if quick else 3), workers or cpu_count()
    out = out or Path("comparison" + "-quick" * quick)
    expected = stage.expected_seconds(settings, who, chosen, seeds=seeds, workers=workers)
    console.print(
        f"{len(who)} models on {', '.join(chosen)}, {seeds} seeds: about {duration(expected)} on "
        f"{workers} cores, less what {out} has already.",
        highlight=False,
    )
    with told_if_stopped(lambda: GOES_ON), progress_display(console) as on_progress:
        results = stage.reproduce(
            settings,
            out,
            experiments=chosen,
            models=[one.name for one in who],
            seeds=seeds,
            workers=workers,
            keep_going=True,
            on_progress=on_progress,
        )
    with told_if_stopped(lambda: GOES_ON), console.status("Drawing figures and writing the report"):
        compared = write_comparison(out, chosen)
    for one in compared:
        console.print()
        console.print(to_terminal(one))
        for sentence in one.answers:
            console.print(f"[bold]{sentence}[/]", highlight=False)
    for failure in results.failures:
        console.print(
            printable(
                f"failed: {failure.model} on {failure.experiment}, seed {failure.seed}: "
                f"{failure.reason}"
            ),
            style="red",
            markup=False,
            highlight=False,
        )
    console.print(f"\nReport: {out / 'report.html'}\nNumbers: {out / 'results.json'}")
