"""`lupi show`."""

from pathlib import Path

from lupi.commands.options import Json
from lupi.commands.options import show as show_result
from lupi.commands.out_of_fold import show_out_of_fold


def show(model: Path, /, *, json: Json = False) -> None:
    """Say what a forecaster was trained on, and how.

    Parameters
    ----------
    model
        A file that `lupi train` wrote.
    json
        Print JSON for programs.
    """
    from lupi._machinery.array_files import read_arrays
    from lupi.forecasting.fitted_file import CORRECTION, Contents

    header, arrays = read_arrays(model, kind="forecaster")
    Contents.of(header, model)
    size = {"bytes": model.stat().st_size, "weights": sum(a.size for a in arrays.values())}
    if json:
        show_result(size | header, as_json=True)
        return
    provenance = dict(header["provenance"])
    told = {
        name: value for name, value in provenance.items() if name not in ("out_of_fold", "asked")
    }
    # Digests of series tell nobody anything.
    told["data"] = {name: value for name, value in told["data"].items() if name != "digests"}
    # Of each network its units, and weights once more: for programs.
    brief = {name: value for name, value in header.items() if name not in ("members", "parts")}
    show_result(size | brief | {"provenance": told}, as_json=False)
    show_out_of_fold(provenance)
    if header.get("parts"):
        from lupi.forecasting.widening import read_widening

        print("\nThe networks' 90 % intervals, widened by what these runs call for:")
        for one in read_widening(arrays, f"{model} is damaged"):
            print(f"  {one}")
        if any(name.startswith(CORRECTION) for name in arrays):
            print("What their trajectories lack at the points of a run is added to them.")
