"""`lupi reproduce`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lupi._machinery.stopping import told_if_stopped
from lupi.commands.options import GOES_ON, Names, Whole, split_names
from lupi.commands.progress import progress_display
from lupi.errors import UserError, check_name, check_whole


def reproduce(
    *,
    experiments: Names | None = None,
    models: Names | None = None,
    seeds: Whole = 3,
    epochs: Whole | None = None,
    out: Path | None = None,
    preset: str = "paper",
    noise: float = 0.0,
    quick: Annotated[bool, Parameter(negative="")] = False,
    workers: Whole | None = None,
) -> None:
    """Reproduce the paper: Table 1, its claims and its figures.

    Trains NoPI and LUPI in the three experiments, several seeds each, evaluates them and writes
    results.json, table.md, figures/, report.html and every trained model into the output folder.
    Stop it at any time: the same command goes on where it stopped.

    Parameters
    ----------
    experiments
        Which of stiffness, damping, lotka-volterra. Default: all.
    models
        Which models, of those that `lupi models` lists. Default: the paper's, nopi and lupi.
    seeds
        How many seeds, from 0 on. Models of a seed share data, contexts and initial weights.
    epochs
        Epochs of training. Default: the preset's; of the paper 100, and 550 for lotka-volterra.
    out
        The output folder. Default: reproduction, with the names of a preset and -quick behind.
    preset
        paper: the models and the inference of the paper. best: the same data and models of the same
        kind, trained and asked so that they forecast best.
    noise
        Of every observation, in standard deviations of each quantity; the paper's have none.
    quick
        A smoke run that does everything on next to no data; its numbers mean nothing.
    workers
        Runs at the same time. Default: one for each core.
    """
    for name, value in (("seeds", seeds), ("epochs", epochs), ("workers", workers)):
        if value is not None:
            check_whole(f"--{name}", value, least=1)
    from rich.console import Console

    from lupi import experiments as stage
    from lupi.report import describe_claims, kept_claims, to_terminal, write_report

    def chosen(names, default) -> tuple[str, ...]:
        return tuple(default) if names is None else split_names(names)

    console = Console()
    check_name("preset", preset, stage.REPRODUCTIONS)
    if not 0 <= noise < float("inf"):
        raise UserError(f"--noise must be 0 or more, got {noise}: try 0.1.")
    how = {"epochs": epochs, "noise": noise}
    settings = (
        stage.quick_settings(preset=preset, **how) if quick else stage.REPRODUCTIONS[preset](**how)
    )
    name = "reproduction" + ("" if preset == "paper" else f"-{preset}") + ("-quick" * quick)
    out = out or Path(name)
    with told_if_stopped(lambda: GOES_ON), progress_display(console) as on_progress:
        results = stage.reproduce(
            settings,
            out,
            experiments=chosen(experiments, stage.EXPERIMENTS),
            models=chosen(models, stage.PAPER_MODELS),
            seeds=seeds,
            workers=workers,
            on_progress=on_progress,
        )
    with told_if_stopped(lambda: GOES_ON), console.status("Drawing figures and writing the report"):
        tables = write_report(out)
    for table in tables:
        console.print()
        console.print(to_terminal(table))
    if results.claims:
        console.print(
            "\n[bold]The paper's claims[/], with 95 % intervals of the gain over paired seeds:"
        )
    colours = {"holds": "green", "undecided": "yellow", "contradicted": "red"}
    for claim in describe_claims(results.claims):
        colour = colours[claim.verdict]
        console.print(f"  [{colour}]{claim.verdict:>13}[/]  {claim.statement}", highlight=False)
        console.print(f"{'':4}[dim]{claim.evidence}[/]", highlight=False)
    kept = kept_claims()
    if results.claims and kept is not None:
        verdicts = [claim.verdict for claim in kept[0]]
        counted = ", ".join(f"{verdicts.count(word)} {word}" for word in colours)
        console.print(f"\nWith many seeds ({kept[1]}): {counted}; the report has each.")
    console.print(f"\nReport: {out / 'report.html'}\nNumbers: {out / 'results.json'}")
