"""`lupi evaluate`."""

from pathlib import Path

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
    from lupi.data.reading import read_tasks
    from lupi.forecaster import load
    from lupi.judging import judge
    from lupi.report.evaluation import write_evaluation

    forecaster = load(model)
    columns = forecaster.columns
    table = read_tasks(
        file,
        series=columns.series,
        time=columns.time,
        observed=columns.observed,
        units=columns.units,
        training=False,
        min_points=2,
    )
    judgement = judge(forecaster, table, context_sizes=context, seed=seed)
    write_evaluation(
        judgement,
        out,
        model=model.name,
        data=Path(file).name,
        context=f"{context[0]} to {context[1]}",
    )
    result = {
        name: {metric: value["mean"] for metric, value in metrics.items()}
        for name, metrics in judgement.metrics.items()
    }
    show(judgement.metrics if json else result, as_json=json)
    if not json:
        print(f"\nReport: {out / 'report.html'}")
