"""Real tables, as a new user would take them: how good are forecasts of runs not seen before?

`benchmarks/data` has the tables. Of each, three times, three tenths of the series are kept apart;
a default forecaster is trained on the others and forecasts these, from their first third and from
a third of their points at random. Beside it stand plain guesses from the same series. Every
division that is done is a line of `real.jsonl`: stopped, it goes on from there. To measure all of
them anew, take that file away.
"""

import sys
import time

import numpy as np

import lupi
from benchmarks.common import HERE, add_lines, read_lines
from lupi.plain import PLAIN

DEVELOPED_ON = {
    "chick-weight": ("chick", "day", "weight"),
    "theophylline": ("subject", "hour", "conc"),
    "loblolly": ("tree", "age", "height"),
    "orange": ("tree", "age", "circumference"),
    "indomethacin": ("subject", "hour", "conc"),
    "fertility": ("country", "year", "births"),
    "co2": ("year", "day", "co2"),
}
"""Tables that were looked at while the method was chosen: series, time and observed column."""

KEPT_APART = {
    "remifentanil": ("subject", "minute", "log_conc"),
    "bilirubin": ("patient", "day", "log_bilirubin"),
    "oxford-boys": ("boy", "age", "height"),
    "soybean": ("plot", "day", "weight"),
    "rat-weight": ("rat", "day", "weight"),
    "milk": ("cow", "week", "protein"),
    "spruce": ("tree", "day", "log_size"),
    "ovary": ("mare", "cycle", "follicles"),
    "el-nino": ("year", "month", "temperature"),
}
"""Tables that were not."""

TABLES = DEVELOPED_ON | KEPT_APART
SPLITS = 3
CONTEXTS = ("first:0.33", "random:0.33")
LINES = HERE / "real.jsonl"


def measure_real() -> list[dict]:
    """Every table and division that is not done yet; then what came of all of them."""
    for split in range(SPLITS):
        for name in TABLES:
            run(name, split)
    return summary()


def summary() -> list[dict]:
    """Of each table and kind of context: errors and coverage, means over the first divisions, of
    which all tables have as many."""
    rows = []
    for name in TABLES:
        here = [row for row in done() if row["table"] == name and row["split"] < SPLITS]
        for context in CONTEXTS if here else ():
            found = [row[context] for row in here]

            def mean(part: str, metric: str, found=found) -> float:
                return float(np.mean([one[part][metric]["mean"] for one in found]))

            errors = {part: mean(part, "rmse") for part in ("forecaster", *PLAIN)}
            best = min(PLAIN, key=errors.__getitem__)
            # Its standard error in each division, over the series that were kept apart.
            stderrs = [one[best]["rmse"]["stderr"] for one in found]
            rows.append(
                {
                    "table": name,
                    "kept_apart": name in KEPT_APART,
                    "series": here[0]["series"],
                    "divisions": len(here),
                    "context": context,
                    "rmse": errors["forecaster"],
                    "best_plain": best,
                    "rmse_of_best_plain": errors[best],
                    "stderr_of_best_plain": float(np.mean(stderrs)),
                    "coverage_90": mean("forecaster", "coverage_90"),
                    "coverage_90_of_best_plain": mean(best, "coverage_90"),
                }
            )
    return rows


def as_table(context: str) -> str:
    """The rows of one kind of context, as Markdown."""
    lines = [
        "| table (series) | RMSE | best plain guess | 90 % covers | that guess |",
        "|---|---|---|---|---|",
    ]
    for row in summary():
        if row["context"] == context:
            plain = f"{row['rmse_of_best_plain']:.3g} ± {row['stderr_of_best_plain']:.1g}"
            lines.append(
                f"| {row['table']} ({row['series']}) | {row['rmse']:.3g} "
                f"| {plain}, {row['best_plain']} | {100 * row['coverage_90']:.0f} % "
                f"| {100 * row['coverage_90_of_best_plain']:.0f} % |"
            )
    return "\n".join(lines)


def done() -> list[dict]:
    """What has been measured."""
    return read_lines(LINES)


def run(name: str, split: int) -> None:
    """Train on some series of a table and forecast the others."""
    if any(row["table"] == name and row["split"] == split for row in done()):
        return
    series, time_column, observed = TABLES[name]
    table = lupi.read_series(
        HERE / "data" / f"{name}.csv",
        series=series,
        time=time_column,
        observed=observed,
        min_points=2,
    )
    order = np.random.default_rng(1000 + split).permutation(len(table))
    number = max(2, round(0.3 * len(table)))
    test, training = table[np.sort(order[:number])], table[np.sort(order[number:])]
    started = time.perf_counter()
    forecaster = lupi.Forecaster().fit(training, seed=split, progress=False)
    row = {
        "table": name,
        "split": split,
        "series": len(table),
        "trained_on": len(training),
        "seconds": time.perf_counter() - started,
        "lupi": lupi.__version__,
        "weights": forecaster.provenance["weights"],
    }
    row |= {context: _judge(forecaster, test, context) for context in CONTEXTS}
    add_lines(LINES, row)
    print(f"  {name} {split}: {row['seconds']:.0f} s", flush=True)


def _judge(forecaster, test, context: str) -> dict:
    found = lupi.evaluate(forecaster, test, context=context, seed=0)
    everyone = {"forecaster": found.metrics} | found.parts
    names = ("rmse", "crps", "coverage_90")
    return {
        part: {name: {"mean": metrics[name].mean, "stderr": metrics[name].stderr} for name in names}
        for part, (metrics,) in ((part, one.values()) for part, one in everyone.items())
    }


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        table, _, number = chosen.partition(":")
        run(table, int(number))
