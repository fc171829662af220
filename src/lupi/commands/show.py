"""`lupi show`."""

from pathlib import Path

from lupi.commands.options import Json
from lupi.commands.options import show as show_result


def show(model: Path, /, *, json: Json = False) -> None:
    """Say what a forecaster was trained on, and how.

    Parameters
    ----------
    model
        A file that `lupi train` wrote.
    json
        Print JSON for programs.
    """
    import math

    from lupi._machinery.array_files import read_header

    header, shapes = read_header(model, kind="forecaster")
    numbers = sum(math.prod(shape) for shape in shapes.values())
    show_result({"weights": numbers} | header, as_json=json)
