"""`lupi predict`."""

from pathlib import Path

from lupi.commands.options import Json, refuse_overwriting, show
from lupi.errors import UserError


def predict(
    model: Path,
    observations: str | None = None,
    /,
    *,
    out: Path,
    times: str | None = None,
    coverage: float = 0.9,
    samples: int = 64,
    seed: int = 0,
    plot: Path | None = None,
    json: Json = False,
) -> None:
    """Forecast new runs from a few observations.

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
    samples
        Of the unknown system; more make smoother intervals.
    seed
        Of the samples.
    plot
        A picture of the first runs, such as forecast.png.
    json
        Print JSON for programs.
    """
    from lupi.data.writing import check_suffix, write_table
    from lupi.forecasting import load

    check_suffix(out)
    if observations is not None:
        refuse_overwriting(out, observations)
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"--plot must end in .png, .svg or .pdf, got {plot}.")
    if not 0 < coverage < 1:
        raise UserError(f"--coverage must be between 0 and 1, got {coverage}: try 0.9.")
    forecast = load(model).predict(observations, _parse(times), num_samples=samples, seed=seed)
    write_table(out, forecast.to_dataframe(coverage=coverage))
    result = {"file": str(out), "series": len(forecast), "rows": len(forecast.times)}
    if plot is not None:
        forecast.plot(coverage=coverage).savefig(plot)
        result["picture"] = str(plot)
    show(result, as_json=json)


def _parse(times: str | None):
    import numpy as np

    if times is None:
        return None
    bounds = times.split(":")
    try:
        if len(bounds) == 3:
            return np.linspace(float(bounds[0]), float(bounds[1]), int(bounds[2]))
        return [float(text) for text in times.split(",")]
    except ValueError:
        return times.split(",")
