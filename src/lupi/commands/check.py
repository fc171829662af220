"""`lupi check`."""

import sys

from lupi.commands.options import ColumnOptions, Json, show
from lupi.errors import printable


def check(file: str, /, *, columns: ColumnOptions, json: Json = False) -> None:
    """Say what is understood of a table, and every problem in it, without training.

    Also how many rows and runs are left out, and what may be worth trying.
    Ends with 2 if there is a problem.

    Parameters
    ----------
    file
        CSV, TSV, Parquet or NetCDF, in long format: a row for each time of each run.
    json
        Print JSON for programs.
    """
    from lupi.data.reading import check_series
    from lupi.data.suggestions import suggest
    from lupi.data.summary import summarise

    table, problems = check_series(file, **columns.as_arguments())
    understood = {} if table is None else summarise(table)
    found = [str(problem) for problem in problems]
    if table is not None and not found and len(table) < 2:
        found = [
            f"{file}: expected at least 2 series to train on, got 1: name the series column, or "
            "cut it into runs with --window."
        ]
    suggestions = [] if table is None else suggest(table)
    more = {"suggestions": suggestions, "problems": found}
    brief = {name: value for name, value in understood.items() if value != {}}
    show(understood | more if json else brief, as_json=json)
    if not json:
        for suggestion in suggestions:
            print(f"\nSuggestion: {printable(str(suggestion))}")
    if found and not json:
        print(f"\n{len(found)} problem{'s' if len(found) > 1 else ''}:", file=sys.stderr)
        for problem in found:
            print(f"- {printable(str(problem))}", file=sys.stderr)
    if found:
        sys.exit(2)
    if not json:
        print("No problem found.")
