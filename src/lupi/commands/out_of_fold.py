"""How a forecaster and plain guesses did on runs that they had not seen, as a table."""

from typing import Any

from lupi.errors import printable

TITLE = "On runs that were left out of training"
LABELS = {"blend": "forecaster", "lupi": "its networks"}

ERRORS_BESIDE = 3
"""Columns whose errors stand beside each other in 80 columns; more go into further tables."""


def show_out_of_fold(provenance: dict[str, Any]) -> None:
    """Print it, where there is one, and say whether a plain guess would have done as well."""
    judged = provenance.get("out_of_fold")
    if not judged:
        return
    from rich.console import Console
    from rich.table import Table

    columns = list(next(iter(judged.values()))["rmse"])
    console = Console()
    for start in range(0, len(columns), ERRORS_BESIDE):
        some = columns[start : start + ERRORS_BESIDE]
        first = start == 0
        table = Table(title=TITLE, title_justify="left", box=None)
        table.add_column("", no_wrap=True)
        scores = ("90 %\ncovers", "CRPS", "weight") if first else ()
        for name in [*(f"error of\n{_plain(name)}" for name in some), *scores]:
            table.add_column(name, justify="right", overflow="fold")
        for name, found in judged.items():
            weight = provenance["weights"].get(name, 0.0)
            cells = [f"{found['rmse'][column]:.3g}" for column in some]
            if first:
                cells += [f"{100 * found['coverage_90']:.0f} %", f"{found['crps']:.3f}"]
                cells += ["" if name == "blend" else f"{100 * weight:.0f} %"]
            table.add_row(LABELS.get(name, _plain(name)), *cells)
        console.print()
        console.print(table)
    plain = {name: one["crps"] for name, one in judged.items() if name not in ("blend", "lupi")}
    best = min(plain, key=lambda name: plain[name])
    said = []
    if "blend" in judged and plain[best] <= judged["blend"]["crps"]:
        said.append(f"The {_plain(best)} alone forecasts these runs better than the forecaster.")
    elif plain[best] <= judged["lupi"]["crps"]:
        said.append(
            f"The {_plain(best)} alone forecasts these runs better than the networks: the "
            "forecaster takes from each as much as it is worth."
        )
    if "blend" in judged:
        said.append(
            "Each run is forecast here by a blend that the others chose, as wide as they call for: "
            "so good it should be on new runs like these."
        )
    console.print("\n" + " ".join(said), highlight=False)


def _plain(name: str) -> str:
    """A name from a file, as text and nothing else."""
    from rich.markup import escape

    return escape(printable(name))
