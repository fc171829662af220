"""The paper's claims, each with an interval from paired seeds."""

from typing import Any

import numpy as np

from lupi.evaluation import MODES
from lupi.experiments.paper import EXPERIMENTS, WITH, WITHOUT
from lupi.experiments.results import Floor, Record
from lupi.metrics import estimate, interval

LEVEL = 0.95
"""Of the intervals: Student's, of the paired differences over seeds."""

VERDICTS = {1: "holds", 0: "undecided", -1: "contradicted"}

Claim = dict[str, Any]


def judge_claims(records: list[Record], floors: list[Floor]) -> list[Claim]:
    """Every claim that the records have both models for.

    - `accuracy`: LUPI's mean squared error is lower, per experiment and setting;
    - `calibration`: LUPI's calibration error (the paper's) is lower, per experiment and setting;
    - `sharpness`: LUPI is *less* sharp in most of these cells (5 of 6 in the paper).

    The answer is the interval of the gain, the paired differences over seeds. In a word, a claim
    `holds` where all of it is in favour, is `contradicted` where all of it is against, and
    `undecided` where it contains 0, so that no word moves with rounding alone. Sharpness holds, or
    is contradicted, where most of the cells are beyond chance.
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
    found = interval(gain, level=LEVEL)
    return {
        "experiment": experiment,
        "mode": mode,
        "metric": metric,
        WITHOUT: estimate(nopi)._asdict(),
        WITH: estimate(lupi)._asdict(),
        "gain": found._asdict(),
        "seeds": len(seeds),
        "seeds_in_favour": int((gain > 0).sum()),
        "verdict": VERDICTS[found.sign],
    }


def _judge_sharpness(records: list[Record], cells: list[tuple[str, str]]) -> Claim:
    compared = [_compare(records, experiment, mode, "spread_std") for experiment, mode in cells]
    # `_compare` asks whether LUPI's value is lower, this claim whether it is higher.
    less_sharp = [cell for cell in compared if cell["gain"]["mean"] < 0]
    beyond = {word: [c for c in compared if c["verdict"] == word] for word in VERDICTS.values()}
    most = len(cells) / 2
    less, more = (len(beyond[word]) for word in ("contradicted", "holds"))
    verdict = VERDICTS[(less > most) - (more > most)]
    return {
        "claim": "sharpness",
        "metric": "spread_std",
        "cells": [{k: v for k, v in cell.items() if k != "verdict"} for cell in compared],
        "less_sharp": [
            {"experiment": cell["experiment"], "mode": cell["mode"]} for cell in less_sharp
        ],
        "count": len(less_sharp),
        "beyond_chance": less,
        "sharper_beyond_chance": more,
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
