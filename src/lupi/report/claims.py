"""The paper's claims in words, with the evidence for and against each."""

from typing import Any, NamedTuple

from lupi.report.paper import TABLE_1, unit

SETTINGS = {"test": "at test time", "train": "in the training setting"}
STATEMENTS = {"accuracy": "LUPI is more accurate", "calibration": "LUPI is better calibrated"}


class JudgedClaim(NamedTuple):
    """One claim as a person reads it."""

    statement: str
    verdict: str
    evidence: str
    paper: str


def describe_claims(claims: list[dict[str, Any]]) -> list[JudgedClaim]:
    """Each claim of `results.json` as sentences."""
    return [
        _describe_sharpness(claim) if claim["claim"] == "sharpness" else _describe_pair(claim)
        for claim in claims
    ]


def _describe_pair(claim: dict[str, Any]) -> JudgedClaim:
    task, mode, metric = claim["task"], claim["mode"], claim["metric"]
    scale = unit(task, metric)
    nopi, lupi = claim["nopi"]["mean"] / scale, claim["lupi"]["mean"] / scale
    gain = claim["gain"]
    error = "" if gain["stderr"] is None else f" ± {gain['stderr'] / scale:.2f}"
    chance = "" if claim["p_value"] is None else f", p = {claim['p_value']:.3f}"
    evidence = (
        f"NoPI {nopi:.2f}, LUPI {lupi:.2f}, gain {gain['mean'] / scale:+.2f}{error}, "
        f"{claim['seeds_in_favour']} of {claim['seeds']} seeds{chance}"
    )
    if "floor" in claim:
        evidence += f", floor {claim['floor']['mean'] / scale:.2f}"
    printed = [getattr(TABLE_1[task, model, mode], metric).mean for model in ("nopi", "lupi")]
    return JudgedClaim(
        statement=f"{STATEMENTS[claim['claim']]} {SETTINGS[mode]}: {task}",
        verdict=claim["verdict"],
        evidence=evidence,
        paper=f"NoPI {printed[0]:.2f}, LUPI {printed[1]:.2f}",
    )


def _describe_sharpness(claim: dict[str, Any]) -> JudgedClaim:
    where = ", ".join(f"{c['task']} {SETTINGS[c['mode']]}" for c in claim["less_sharp"])
    return JudgedClaim(
        statement="LUPI is less sharp in most cases",
        verdict=claim["verdict"],
        evidence=f"in {claim['count']} of {claim['of']}, {claim['beyond_chance']} beyond chance"
        + (f": {where}" if where else ""),
        paper="in 5 of 6",
    )
