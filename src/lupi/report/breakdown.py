"""Tables of how a forecaster did with few points and with many, near and far."""

from typing import Any

from lupi.forecasting import TableEvaluation
from lupi.forecasting.fitted import NETWORKS

WAYS = {"points_seen": "points shown", "distance": "where"}
SHOWN = ("rmse", "crps", "coverage_90")


def as_dictionaries(evaluation: TableEvaluation) -> dict[str, Any]:
    """As it stands in `metrics.json`: by who forecast, way, group, column and metric."""
    return {
        who: {
            way: {
                name: {
                    column: {metric: value._asdict() for metric, value in found.items()}
                    | {"values": group.values[column]}
                    for column, found in group.metrics.items()
                }
                for name, group in groups.items()
            }
            for way, groups in ways.items()
        }
        for who, ways in evaluation.breakdown.items()
    }


def tables(evaluation: TableEvaluation) -> list[dict[str, Any]]:
    """For each observed column: by points shown and by distance, the forecaster and the plain guess
    that has the smallest CRPS of that column."""
    return [_table(evaluation, column) for column in evaluation.metrics]


def _table(evaluation: TableEvaluation, column: str) -> dict[str, Any]:
    plain = {
        name: part[column]["crps"].mean
        for name, part in evaluation.parts.items()
        if name != NETWORKS
    }
    best = min(plain, key=lambda name: plain[name]) if plain else None
    whom = ["forecaster"] + ([] if best is None else [best])
    blocks = [
        {
            "label": WAYS[way],
            "rows": [
                {
                    "label": name,
                    "values": group.values[column],
                    "cells": [
                        _cells(evaluation.breakdown[who][way][name].metrics[column]) for who in whom
                    ],
                }
                for name, group in groups.items()
                if column in group.metrics
            ],
        }
        for way, groups in evaluation.breakdown["forecaster"].items()
    ]
    return {"column": column, "whom": whom, "blocks": blocks}


def _cells(found: dict[str, Any]) -> list[str]:
    rmse, crps, coverage = (found[name].mean for name in SHOWN)
    return [f"{rmse:.3g}", f"{crps:.3g}", f"{100 * coverage:.0f} %"]
