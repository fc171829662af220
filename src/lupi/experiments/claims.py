"""The paper's claims, each judged from paired seeds."""

from typing import Any

import numpy as np

from lupi.experiments.results import Floor, Record
from lupi.metrics import estimate
from lupi.names import MODE_NAMES, TASK_NAMES

SIGNIFICANCE = 0.05
"""Of the one-sided paired t-test over seeds that a claim must pass to hold."""

Claim = dict[str, Any]


def judge_claims(records: list[Record], floors: list[Floor]) -> list[Claim]:
    """Every claim that the records have both models for.

    - `accuracy`: LUPI's mean squared error is lower, per task and setting;
    - `calibration`: LUPI's calibration error (the paper's) is lower, per task and setting;
    - `sharpness`: LUPI is *less* sharp in most of these cells (5 of 6 in the paper).

    A verdict is `holds` when the seeds' paired differences pass a one-sided t-test, `undecided`
    when their mean is in favour but could be chance, and `does not hold` when it is not. Sharpness
    is a count of cells, by the mean over seeds; how many are beyond chance stands beside it.
    """
    claims = []
    cells = [(t, m) for t in TASK_NAMES for m in MODE_NAMES if _seeds(records, t, m)]
    for name, metric in (("accuracy", "mse"), ("calibration", "calibration_error")):
        for task, mode in cells:
            claim = {"claim": name} | _compare(records, task, mode, metric)
            if metric == "mse":
                floor = estimate([f.mse.mean for f in floors if f.task == task])
                claim["floor"] = floor._asdict()
            claims.append(claim)
    if cells:
        claims.append(_judge_sharpness(records, cells))
    return claims


def _compare(records: list[Record], task: str, mode: str, metric: str) -> Claim:
    seeds = _seeds(records, task, mode)
    nopi = np.array([_value(records, task, "nopi", seed, mode, metric) for seed in seeds])
    lupi = np.array([_value(records, task, "lupi", seed, mode, metric) for seed in seeds])
    gain = nopi - lupi
    p_value = None
    if len(seeds) > 1 and gain.std() > 0:
        from scipy.special import stdtr  # a fifth of a second, for the few who judge claims

        t = gain.mean() / (gain.std(ddof=1) / np.sqrt(len(seeds)))
        p_value = float(stdtr(len(seeds) - 1, -t))
    if gain.mean() <= 0:
        verdict = "does not hold"
    elif p_value is not None and p_value < SIGNIFICANCE:
        verdict = "holds"
    else:
        verdict = "undecided"
    return {
        "task": task,
        "mode": mode,
        "metric": metric,
        "nopi": estimate(nopi)._asdict(),
        "lupi": estimate(lupi)._asdict(),
        "gain": estimate(gain)._asdict(),
        "seeds": len(seeds),
        "seeds_in_favour": int((gain > 0).sum()),
        "p_value": p_value,
        "verdict": verdict,
    }


def _judge_sharpness(records: list[Record], cells: list[tuple[str, str]]) -> Claim:
    compared = [_compare(records, task, mode, "sharpness") for task, mode in cells]
    # `_compare` asks whether LUPI's value is lower, this claim whether it is higher.
    less_sharp = [cell for cell in compared if cell["gain"]["mean"] < 0]
    beyond_chance = [
        cell
        for cell in less_sharp
        if cell["p_value"] is not None and cell["p_value"] > 1 - SIGNIFICANCE
    ]
    if len(less_sharp) <= len(cells) / 2:
        verdict = "does not hold"
    elif any(cell["seeds"] < 2 for cell in compared):
        verdict = "undecided"
    else:
        verdict = "holds"
    return {
        "claim": "sharpness",
        "metric": "sharpness",
        "cells": [{k: v for k, v in cell.items() if k != "verdict"} for cell in compared],
        "less_sharp": [{"task": cell["task"], "mode": cell["mode"]} for cell in less_sharp],
        "count": len(less_sharp),
        "beyond_chance": len(beyond_chance),
        "of": len(cells),
        "verdict": verdict,
    }


def _seeds(records: list[Record], task: str, mode: str) -> list[int]:
    """The seeds for which both models have a record."""

    def of_model(model):
        return {r.seed for r in records if (r.task, r.model, r.mode) == (task, model, mode)}

    return sorted(of_model("nopi") & of_model("lupi"))


def _value(records: list[Record], task, model, seed, mode, metric) -> float:
    wanted = (task, model, seed, mode)
    return next(
        r.metrics[metric].mean for r in records if (r.task, r.model, r.seed, r.mode) == wanted
    )
