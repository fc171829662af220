"""How a forecaster and plain guesses did on runs that they had not seen, as a table."""

from typing import Any


def show_out_of_fold(provenance: dict[str, Any]) -> None:
    """Print it, where there is one, and say whether a plain guess would have done as well."""
    judged = provenance.get("out_of_fold")
    if not judged:
        return
    from rich.console import Console
    from rich.table import Table

    columns = list(next(iter(judged.values()))["rmse"])
    table = Table(title="On runs that were left out of training", title_justify="left", box=None)
    table.add_column("")
    for name in [*(f"error of {name}" for name in columns), "90 % covers", "CRPS", "weight"]:
        table.add_column(name, justify="right")
    for name, found in judged.items():
        label = "forecaster" if name == "blend" else "its networks" if name == "lupi" else name
        weight = provenance["weights"].get(name, 0.0)
        table.add_row(
            label,
            *(f"{found['rmse'][column]:.3g}" for column in columns),
            f"{100 * found['coverage_90']:.0f} %",
            f"{found['crps']:.3f}",
            "" if name == "blend" else f"{100 * weight:.0f} %",
        )
    console = Console()
    console.print()
    console.print(table)
    plain = {name: one["crps"] for name, one in judged.items() if name not in ("blend", "lupi")}
    best = min(plain, key=lambda name: plain[name])
    if plain[best] <= judged["lupi"]["crps"]:
        console.print(
            f"\nThe {best} alone forecasts these runs better than the networks: the forecaster "
            "takes from each as much as it is worth.",
            highlight=False,
        )
