"""The benchmarks' figures."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

import lupi.report
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
    """The error of both models against the number of training systems, every seed a dot."""
    experiments = list(dict.fromkeys(row["experiment"] for row in rows))
    noises = sorted({row["noise"] for row in rows})
    with plt.style.context(STYLE):
        figure, panels = plt.subplots(
            len(noises),
            len(experiments),
            figsize=(3.2 * len(experiments), 2.8 * len(noises)),
            squeeze=False,
        )
        for panel, (noise, experiment) in zip(
            panels.flat, ((n, e) for n in noises for e in experiments), strict=True
        ):
            here = [r for r in rows if (r["noise"], r["experiment"]) == (noise, experiment)]
            for name, shift in (("nopi", 1.04), ("lupi", 0.96)):
                model = MODELS[name]
                sizes = np.array([row["systems"] for row in here])
                for size, row in zip(sizes, here, strict=True):
                    values = row["mse"][name]
                    panel.plot([size * shift] * len(values), values, ".", color=model.colour)
                middle = [np.exp(np.mean(np.log(row["mse"][name]))) for row in here]
                panel.plot(sizes * shift, middle, "-", color=model.colour, label=model.label)
            panel.set(
                xscale="log",
                yscale="log",
                xlabel="training systems",
                ylabel="mean squared error",
                title=f"{experiment}, {f'noise {noise}' if noise else 'clean'}",
            )
            panel.set_xticks([row["systems"] for row in here], [row["systems"] for row in here])
            panel.xaxis.set_minor_locator(NullLocator())
        panels[0, 0].legend()
        figure.savefig(path)
        plt.close(figure)
