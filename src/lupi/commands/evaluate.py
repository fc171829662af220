"""`lupi evaluate`."""

import sys
from pathlib import Path
from typing import Any

from lupi.commands.options import Json, Whole, show
from lupi.commands.outputs import Overwrite, check_files
from lupi.errors import check_seed


def evaluate(
    model: Path,
    file: str,
    /,
    *,
    out: Path = Path("evaluation"),
    context: str = "5:9",
    seed: Whole = 0,
    window: str | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Judge a forecaster on runs it has not seen.

    Some observations of each run are shown to it, all others are forecast and compared.
    Runs that cannot be judged are left out, and named.
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
        Which observations are shown: 5:9 for 5 to 9 at random; first:0.33, last:0.33, random:0.33
        for a share of each run; gap:0.5 for all but the middle half.
    seed
        Of the choice of observations and of the forecasts.
    window
        Cut each series of the table into runs of this length, as `lupi train --window` does.
    overwrite
        Write over the files of an evaluation that is there.
    json
        Print JSON for programs.
    """
    from lupi.data.reading import column_names, read_series
    from lupi.forecasting import evaluate as evaluate_forecaster
    from lupi.forecasting import load
    from lupi.forecasting.evaluation import read_context
    from lupi.forecasting.examples import examples
    from lupi.forecasting.refusals import refusal
    from lupi.report.evaluation import FILES, LABELS, as_dictionaries, compared, write_evaluation

    read_context(context)  # before anything is loaded
    check_seed(seed)
    check_files(
        reads=[("the model", model), ("the table", file)],
        writes=[("--out", out / name) for name in FILES],
        overwrite=overwrite,
    )
    forecaster = load(model)
    columns, there = forecaster.columns, column_names(file)
    table = read_series(
        file,
        # Of one long record the runs are named by their windows, and not by a column.
        series=columns.series if window is None or columns.series in there else None,
        time=columns.time,
        observed=columns.observed,
        privileged=[name for name in columns.privileged_sources if name in there],
        known=columns.known,
        events=columns.events,
        categories=columns.categories,
        training=False,
        clock=columns.clock,
        start=columns.start if columns.start in there else None,
        window=window,
    )
    evaluation = evaluate_forecaster(forecaster, table, context=context, seed=seed)
    if evaluation.recognised.number:
        print(f"lupi: {evaluation.recognised}", file=sys.stderr)
    write_evaluation(
        evaluation,
        out,
        examples=examples(forecaster, table, evaluation.forecast),
        model=model.name,
        data=Path(file).name,
        context=context,
    )
    means: dict[str, Any] = {
        name: {metric: found[metric].mean for metric in LABELS}
        for name, found in evaluation.metrics.items()
    }
    if evaluation.parts:
        means["beside plain guesses"] = {
            part["name"]: part["columns"] for part in compared(evaluation)
        }
    if evaluation.privileged:
        means["privileged values, recovered"] = evaluation.privileged
    show(as_dictionaries(evaluation) if json else means, as_json=json)
    if not json:
        print(f"\nReport: {out / 'report.html'}")
        if evaluation.refused:
            number = len(table) + len(table.unfit)
            print(f"\n{len(evaluation.refused)} of {number} series are in no score:")
        for label, reason in evaluation.refused.items():
            print(f"- {refusal(columns, label, reason)}")
    short = set(table.labels[table.lengths < 2].tolist())  # of which windows leave some: no mistake
    if evaluation.refused.keys() - short:
        sys.exit(2)
