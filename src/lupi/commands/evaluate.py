"""`lupi evaluate`."""

from pathlib import Path
from typing import Any

from lupi.commands.options import Json, show
from lupi.errors import UserError


def evaluate(
    model: Path,
    file: str,
    /,
    *,
    out: Path = Path("evaluation"),
    context: tuple[int, int] = (5, 9),
    seed: int = 0,
    json: Json = False,
) -> None:
    """Judge a forecaster on runs it has not seen.

    Some random observations of each run are shown to it, all others are forecast and compared.
    Writes metrics.json, figures/ and report.html.

    Parameters
    ----------
    model
        A file that `lupi train` wrote.
    file
        A table with the columns of the training data but the privileged ones.
    out
        The output folder.
    context
        The least and the largest number of observations shown.
    seed
        Of the choice of observations and of the forecasts.
    json
        Print JSON for programs.
    """
    if not 1 <= context[0] <= context[1]:
        raise UserError(f"--context must be two numbers, the smaller first, got {context}.")
    from lupi.data.reading import column_names, read_series
    from lupi.forecasting import evaluate as evaluate_forecaster
    from lupi.forecasting import load
    from lupi.report.evaluation import LABELS, as_dictionaries, write_evaluation

    forecaster = load(model)
    columns = forecaster.columns
    table = read_series(
        file,
        series=columns.series,
        time=columns.time,
        observed=columns.observed,
        privileged=[name for name in columns.privileged if name in column_names(file)],
        training=False,
        min_points=2,
    )
    evaluation = evaluate_forecaster(forecaster, table, context_sizes=context, seed=seed)
    write_evaluation(
        evaluation,
        out,
        model=model.name,
        data=Path(file).name,
        context=f"{context[0]} to {context[1]}",
    )
    means: dict[str, Any] = {
        name: {metric: found[metric].mean for metric in LABELS}
        for name, found in evaluation.metrics.items()
    }
    if evaluation.privileged:
        means["privileged values, recovered"] = evaluation.privileged
    show(as_dictionaries(evaluation) if json else means, as_json=json)
    if not json:
        print(f"\nReport: {out / 'report.html'}")
