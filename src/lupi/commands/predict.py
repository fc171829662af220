"""`lupi predict`."""

import io
import sys
from pathlib import Path

from lupi.commands.options import Json, Whole, show
from lupi.commands.outputs import Overwrite, check_files
from lupi.commands.times import read_times
from lupi.errors import UserError

SHOWN = 10
"""Runs of which is printed what was found."""


def predict(
    model: Path,
    observations: str | None = None,
    /,
    *,
    out: Path,
    times: str | None = None,
    coverage: float = 0.9,
    quantiles: str | None = None,
    samples: Whole = 64,
    seed: Whole = 0,
    plot: Path | None = None,
    systems: Path | None = None,
    known: dict[str, str] | None = None,
    privileged: dict[str, str] | None = None,
    start: str | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Forecast new runs from a few observations.

    Runs that cannot be forecast are named with the reason, the others are forecast, and it ends
    with 2.

    Parameters
    ----------
    model
        A file that `lupi train` wrote.
    observations
        A table with the time and observed columns of the training data, and for several runs the
        column that names them. Without it: what the model believes of a run it has seen nothing
        of.
    out
        The file for the forecast: .csv, .parquet or .nc, with mean, std, lower and upper.
    times
        Where to forecast: numbers or dates with commas between them, or first:last:number. Default:
        100 over the span of the training data.
    coverage
        Of the interval from lower to upper.
    quantiles
        Levels of quantiles to be added to the forecast, such as 0.1,0.5,0.9: columns x_q0.1 and so
        on.
    samples
        Of the unknown system; more make smoother intervals.
    seed
        Of the samples.
    plot
        A picture of the first runs, such as forecast.png.
    systems
        A file for what was found of each run: its privileged values as far as the observations tell
        them, and its surprise (.csv, .parquet or .nc).
    known
        A value that training knew of new runs too, of all runs here, such as --known.dose 3; where
        it differs between runs, or changes, it is a column of the observations.
    privileged
        A privileged value that is known of the new runs all the same, such as --privileged.k 0.5,
        or a category.
    start
        The column of the observations that says when a run with dates began, if that was before its
        first row. Default: that of the training data, where the observations have it.
    overwrite
        Write over files that are there.
    json
        Print JSON for programs.
    """
    from lupi._machinery.files import write_atomically
    from lupi.data.writing import check_suffix, write_table
    from lupi.forecasting import load
    from lupi.forecasting.levels import read_levels
    from lupi.forecasting.refusals import refusal

    check_suffix(out)
    levels = read_levels(quantiles)
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"--plot must end in .png, .svg or .pdf, got {plot}.")
    if not 0 < coverage < 1:
        raise UserError(f"--coverage must be between 0 and 1, got {coverage}: try 0.9.")
    if systems is not None:
        check_suffix(systems)
    check_files(
        reads=[("the model", model), ("the observations", observations)],
        writes=[("--out", out), ("--systems", systems), ("--plot", plot)],
        overwrite=overwrite,
    )
    forecast = load(model).predict(
        observations,
        read_times(times),
        starts=start,
        known=_values(known),
        privileged=_values(privileged),
        num_samples=samples,
        seed=seed,
    )
    write_table(out, forecast.to_dataframe(coverage=coverage, quantiles=levels))
    result = {"file": str(out), "series": len(forecast), "rows": len(forecast.times)}
    if forecast.refused:
        result["refused"] = forecast.refused if json else len(forecast.refused)
    if systems is not None:
        write_table(systems, forecast.systems(coverage=coverage))
        result["systems"] = str(systems)
    if plot is not None:
        picture = io.BytesIO()
        forecast.plot(coverage=coverage).savefig(picture, format=plot.suffix[1:].lower())
        write_atomically(plot, picture.getvalue())
        result["picture"] = str(plot)
    if forecast.warnings and json:
        result["warnings"] = forecast.warnings
    if forecast.strangers:
        result["unlike_the_training_data"] = forecast.strangers
    show(result, as_json=json)
    if not json:
        _describe(forecast, coverage)
    for label, reason in forecast.refused.items():
        print(f"lupi: {refusal(forecast.columns, label, reason)}", file=sys.stderr)
    if forecast.refused:
        sys.exit(2)


def _describe(forecast, coverage: float) -> None:
    """What was found of each run, for people."""
    from rich.console import Console

    console = Console(width=None, soft_wrap=True)
    for warning in forecast.warnings:
        console.print(f"\n{_sentence(warning)}", highlight=False, markup=False, style="yellow")
    if forecast.privileged is not None:
        console.print(f"\nFound of each run, with its {coverage:.0%} interval:")
        lower, upper = forecast.privileged.interval(coverage=coverage)
        for i, label in list(enumerate(forecast.series))[:SHOWN]:
            values = ", ".join(
                f"{name} = {forecast.privileged.mean[i, j]:.4g} "
                f"({lower[i, j]:.4g} to {upper[i, j]:.4g})"
                for j, name in enumerate(forecast.privileged.columns.privileged)
            )
            console.print(f"  {label}: {values}", highlight=False, markup=False)
        if len(forecast) > SHOWN:
            console.print(f"  ... and {len(forecast) - SHOWN} more: --systems writes them all")
    for label in forecast.strangers[:SHOWN]:
        surprise = forecast[label].surprise[0]
        console.print(
            f"\nRun {label} is unlike the training data: of runs like those, a share of "
            f"{surprise:.1g} is as hard to explain. Check its columns and units; if they are "
            "right, do not trust its forecast.",
            highlight=False,
            markup=False,
            style="yellow",
        )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _values(given: dict[str, str] | None) -> dict[str, float | str] | None:
    """What options say of columns."""
    return None if given is None else {name: _value(text) for name, text in given.items()}


def _value(text: str) -> float | str:
    """A number, or else a category."""
    try:
        return float(text)
    except ValueError:
        return text
