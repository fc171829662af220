"""The benchmarks' figures."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

import lupi.report
from lupi.metrics import interval
from lupi.registry import MODELS

STYLE = Path(lupi.report.__file__).with_name("lupi.mplstyle")
GOALS = {
    "training step, batch 1": 200,
    "training step, batch 64": 1000,
    "evaluation, per sample": 1000,
}


def draw_speed(rows: list[dict], path: Path) -> None:
    """How many times faster than the rival, per kind of work and model."""
    with plt.style.context(STYLE):
        figure, panels = plt.subplots(1, len(GOALS), figsize=(9.5, 2.8), sharey=True)
        for panel, (work, goal) in zip(panels, GOALS.items(), strict=True):
            chosen = [row for row in rows if row["work"] == work]
            names = [row["model"].replace(", trained", "") for row in chosen]
            middle = [row["ratio"]["median"] for row in chosen]
            errors = [
                [row["ratio"]["median"] - row["ratio"]["lower"] for row in chosen],
                [row["ratio"]["upper"] - row["ratio"]["median"] for row in chosen],
            ]
            panel.barh(names, middle, xerr=errors, color="#4477aa", height=0.6)
            panel.axvline(goal, color="#cc3311", linestyle=":", label=f"goal: {goal:,}")
            panel.set(title=work, xlabel="times faster than PyTorch + torchdiffeq")
            panel.legend(loc="lower right", framealpha=0.8, frameon=True)
        panels[0].invert_yaxis()
        figure.savefig(path)
        plt.close(figure)


def draw_growth(results: dict[str, dict], path: Path) -> None:
    """Time and peak memory against the size of the work, both on logarithmic axes."""
    with plt.style.context(STYLE):
        figure, panels = plt.subplots(2, 3, figsize=(9.5, 5.4))
        for panel, (axis, result) in zip(panels.flat, results.items(), strict=True):
            panel.loglog(result["sizes"], result["seconds"], "o-", color="#4477aa")
            panel.set(xlabel=axis, title=f"{result['what']}", ylabel="seconds")
            memory = panel.twinx()
            memory.loglog(
                result["sizes"], result["megabytes"], "s--", color="#cc3311", markersize=4
            )
            memory.set_ylabel("peak memory, MB", color="#cc3311")
            memory.set_ylim(100, 10_000)
            panel.set_xticks(result["sizes"], [f"{size:,}" for size in result["sizes"]])
            panel.tick_params(axis="x", labelsize="small", rotation=30)
            panel.xaxis.set_minor_locator(NullLocator())
            decades = np.log10(result["seconds"])
            panel.set_ylim(10 ** np.floor(decades.min()), 10 ** np.ceil(decades.max()))
            memory.spines["right"].set_visible(True)
            panel.annotate(
                f"time ∝ size$^{{{result['time_exponent']:.2f}}}$",
                (0.05, 0.9),
                xycoords="axes fraction",
            )
        figure.savefig(path)
        plt.close(figure)


def draw_privileged(rows: list[dict], path: Path) -> None:
    """What LUPI's errors are beside NoPI's in each cell: every pair of seeds, and the mean of the
    logarithm of the ratio with its 95 % interval."""
    metrics = {"crps": "CRPS", "mse": "MSE", "recovered_error": "error of the value"}
    rows = sorted(rows, key=lambda row: (row["experiment"], row["noise"], row["systems"]))
    names = [
        f"{row['experiment']}, {row['systems']}{', noise' if row['noise'] else ''}" for row in rows
    ]
    with plt.style.context(STYLE):
        figure, panels = plt.subplots(
            1, len(metrics), figsize=(9.5, 1.3 + 0.42 * len(rows)), sharey=True
        )
        for panel, (metric, title) in zip(panels, metrics.items(), strict=True):
            for place, row in enumerate(rows):
                pairs = (np.log(row[metric][name]) for name in ("lupi", "nopi"))
                ratios = np.subtract(*pairs)
                mean, lower, upper = interval(ratios)
                panel.plot(np.exp(ratios), [place] * len(ratios), ".", color="0.75", zorder=1)
                panel.plot(np.exp([lower, upper]), [place, place], color=MODELS["lupi"].colour)
                panel.plot(np.exp(mean), place, "o", color=MODELS["lupi"].colour)
            panel.axvline(1, color="0.4", linewidth=0.8, zorder=0)
            panel.set(xscale="log", title=title, xlabel="LUPI over NoPI")
            low, high = panel.get_xlim()
            subs = (1.0, 1.2, 1.4, 7.0, 8.0, 9.0) if high < 3 * low else (1.0, 2.0, 5.0)
            panel.xaxis.set_major_locator(LogLocator(subs=subs))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_locator(NullLocator())
            panel.set_ylim(-0.5, len(rows) - 0.5)
        panels[0].set_yticks(range(len(rows)), names)
        panels[0].invert_yaxis()
        figure.savefig(path)
        plt.close(figure)
