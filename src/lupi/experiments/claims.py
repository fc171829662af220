"""The paper's claims, each judged from paired seeds."""

from typing import Any

import numpy as np

from lupi.evaluation import MODES
from lupi.experiments.paper import EXPERIMENTS, WITH, WITHOUT
from lupi.experiments.results import Floor, Record
from lupi.metrics import estimate

SIGNIFICANCE = 0.05
"""Of the one-sided paired t-test over seeds that a claim must pass to hold."""

Claim = dict[str, Any]


def judge_claims(records: list[Record], floors: list[Floor]) -> list[Claim]:
    """Every claim that the records have both models for.

    - `accuracy`: LUPI's mean squared error is lower, per experiment and setting;
    - `calibration`: LUPI's calibration error (the paper's) is lower, per experiment and setting;
    - `sharpness`: LUPI is *less* sharp in most of these cells (5 of 6 in the paper).

    A verdict is `holds` when the seeds' paired differences pass a one-sided t-test, `undecided`
    when their mean is in favour but could be chance, and `does not hold` when it is not. Sharpness
    is a count of cells, by the mean over seeds; how many are beyond chance stands beside it.
    """
    claims = []
    cells = [(t, m) for t in EXPERIMENTS for m in MODES if _seeds(records, t, m)]
    for name, metric in (("accuracy", "mse"), ("calibration", "spread_calibration_error")):
        for experiment, mode in cells:
            claim = {"claim": name} | _compare(records, experiment, mode, metric)
            if metric == "mse":
                floor = estimate([f.mse.mean for f in floors if f.experiment == experiment])
                claim["floor"] = floor._asdict()
            claims.append(claim)
    if cells:
        claims.append(_judge_sharpness(records, cells))
    return claims


def _compare(records: list[Record], experiment: str, mode: str, metric: str) -> Claim:
    seeds = _seeds(records, experiment, mode)
    nopi = np.array([_value(records, experiment, WITHOUT, seed, mode, metric) for seed in seeds])
    lupi = np.array([_value(records, experiment, WITH, seed, mode, metric) for seed in seeds])
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
        "experiment": experiment,
        "mode": mode,
        "metric": metric,
        WITHOUT: estimate(nopi)._asdict(),
        WITH: estimate(lupi)._asdict(),
        "gain": estimate(gain)._asdict(),
        "seeds": len(seeds),
        "seeds_in_favour": int((gain > 0).sum()),
        "p_value": p_value,
        "verdict": verdict,
    }


def _judge_sharpness(records: list[Record], cells: list[tuple[str, str]]) -> Claim:
    compared = [_compare(records, experiment, mode, "spread_std") for experiment, mode in cells]
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
        "metric": "spread_std",
        "cells": [{k: v for k, v in cell.items() if k != "verdict"} for cell in compared],
        "less_sharp": [
            {"experiment": cell["experiment"], "mode": cell["mode"]} for cell in less_sharp
        ],
        "count": len(less_sharp),
        "beyond_chance": len(beyond_chance),
        "of": len(cells),
        "verdict": verdict,
    }


def _seeds(records: list[Record], experiment: str, mode: str) -> list[int]:
    """The seeds for which both models have a record."""

    def of_model(model):
        return {
            r.seed for r in records if (r.experiment, r.model, r.mode) == (experiment, model, mode)
        }

    return sorted(of_model(WITHOUT) & of_model(WITH))


def _value(records: list[Record], experiment, model, seed, mode, metric) -> float:
    wanted = (experiment, model, seed, mode)
    return next(
        r.metrics[metric].mean for r in records if (r.experiment, r.model, r.seed, r.mode) == wanted
    )
