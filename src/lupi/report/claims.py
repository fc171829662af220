"""The paper's claims in words, with the evidence for and against each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lupi.experiments.claims import judge_claims
from lupi.experiments.kept import read_kept
from lupi.experiments.paper import PAPER_MODELS
from lupi.registry import MODELS
from lupi.report.paper import printed, unit

SETTINGS = {"test": "at test time", "train": "in the training setting"}
GAIN = ("mean", "lower", "upper")
STATEMENTS = {"accuracy": "LUPI is more accurate", "calibration": "LUPI is better calibrated"}


class JudgedClaim(NamedTuple):
    """One claim as a person reads it."""

    statement: str
    verdict: str
    evidence: str
    paper: str


def kept_claims() -> tuple[list["JudgedClaim"], str] | None:
    """The claims on the many seeds that are kept with the package, and the command behind them."""
    kept = read_kept()
    return None if kept is None else (describe_claims(judge_claims(*kept[:2])), kept[2])


def claims_table(claims: Sequence["JudgedClaim"]) -> list[str]:
    """Lines of Markdown."""
    lines = ["| claim | verdict | evidence | paper |", "|---|---|---|---|"]
    return lines + [f"| {' | '.join(claim)} |" for claim in claims]


def describe_claims(claims: list[dict[str, Any]]) -> list[JudgedClaim]:
    """Each claim of `results.json` as sentences."""
    return [
        _describe_sharpness(claim) if claim["claim"] == "sharpness" else _describe_pair(claim)
        for claim in claims
    ]


def _describe_pair(claim: dict[str, Any]) -> JudgedClaim:
    experiment, mode, metric = claim["experiment"], claim["mode"], claim["metric"]
    scale = unit(experiment, metric)
    ours = [claim[model]["mean"] / scale for model in PAPER_MODELS]
    evidence = (
        f"{_both(ours)}, gain {_interval(claim['gain'], scale)}, "
        f"{claim['seeds_in_favour']} of {claim['seeds']} seeds in favour"
    )
    if "floor" in claim:
        evidence += f", floor {claim['floor']['mean'] / scale:.2f}"
    theirs = [printed(experiment, model, mode, metric) for model in PAPER_MODELS]
    return JudgedClaim(
        statement=f"{STATEMENTS[claim['claim']]} {SETTINGS[mode]}: {experiment}",
        verdict=claim["verdict"],
        evidence=evidence,
        paper=_both([value.mean for value in theirs if value is not None]),
    )


def _interval(gain: dict[str, float | None], scale: float) -> str:
    """A difference and its interval, in a printed unit."""
    mean, lower, upper = (None if gain[k] is None else gain[k] / scale for k in GAIN)  # pyright: ignore[reportOptionalOperand]
    return f"{mean:+.2f}" + ("" if lower is None else f" [{lower:+.2f}, {upper:+.2f}]")


def _both(values: list[float]) -> str:
    labels = [MODELS[model].label for model in PAPER_MODELS]
    return ", ".join(f"{label} {v:.2f}" for label, v in zip(labels, values, strict=True))


def _describe_sharpness(claim: dict[str, Any]) -> JudgedClaim:
    where = ", ".join(f"{c['experiment']} {SETTINGS[c['mode']]}" for c in claim["less_sharp"])
    return JudgedClaim(
        statement="LUPI is less sharp in most cases",
        verdict=claim["verdict"],
        evidence=f"in {claim['count']} of {claim['of']}, {claim['beyond_chance']} beyond chance; "
        f"sharper beyond chance in {claim['sharper_beyond_chance']}"
        + (f"; less sharp: {where}" if where else ""),
        paper="in 5 of 6",
    )
