"""`make bench`: measure, print, and write `results.json` and the figures."""

import json
import os
import platform
import sys
from importlib.metadata import version

from benchmarks.amortising import measure_amortising
from benchmarks.common import FIGURES, HERE
from benchmarks.everyone import measure_everyone
from benchmarks.figure_1 import measure_figure_1
from benchmarks.figures import draw_growth, draw_privileged, draw_speed
from benchmarks.finding import measure_finding
from benchmarks.growth import measure_growth
from benchmarks.keeping import measure_keeping
from benchmarks.latency import measure_latency
from benchmarks.limit import measure_limit
from benchmarks.noise import measure_noise
from benchmarks.playground import measure_playground
from benchmarks.privileged import measure_privileged
from benchmarks.reading import measure_reading
from benchmarks.real import measure_real
from benchmarks.search import measure_search
from benchmarks.solvers import compare_solvers
from benchmarks.speed import compare_speed

RESULTS = HERE / "results.json"

PARTS = {
    "speed": compare_speed,
    "latency": measure_latency,
    "playground": measure_playground,
    "solvers": compare_solvers,
    "growth": measure_growth,
    "reading": measure_reading,
    "noise": measure_noise,
    "limit": measure_limit,
    "keeping": measure_keeping,
    "finding": measure_finding,
    "amortising": measure_amortising,
    "search": measure_search,
    "privileged": measure_privileged,
    "everyone": measure_everyone,
    "real": measure_real,
    "figure-1": measure_figure_1,
}


def main(wanted: list[str]) -> None:
    """Run the parts named, or all of them; the others keep their earlier results."""
    for name in wanted:
        if name not in PARTS:
            sys.exit(f"there is no part {name!r}: expected some of {', '.join(PARTS)}.")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("jax", "diffrax", "torch", "torchdiffeq")},
    }
    for name in wanted or PARTS:
        print(f"\n== {name}", flush=True)
        results[name] = PARTS[name]()
        # After each part: what is measured is kept, whatever happens next.
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if "speed" in results:
        draw_speed(results["speed"], FIGURES / "speed.png")
    if "growth" in results:
        draw_growth(results["growth"], FIGURES / "growth.png")
    if "privileged" in results:
        draw_privileged(results["privileged"], FIGURES / "privileged.png")
    print(f"\nNumbers: {RESULTS}\nFigures: {FIGURES}")


if __name__ == "__main__":
    main(sys.argv[1:])
