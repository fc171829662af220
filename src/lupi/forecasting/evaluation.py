"""A forecaster, judged on series it has not seen, in original units."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lupi._machinery.compilation import padded_size
from lupi._machinery.notebooks import as_html
from lupi.data.normalisation import FARTHEST, Normalisation
from lupi.data.original_units import in_original_units
from lupi.data.series_table import SeriesTable, check_is_table, original_times
from lupi.distributions import NormalMixture
from lupi.errors import UserError, check_seed
from lupi.evaluation import Scores, judge_values, score
from lupi.forecasting.breakdown import Breakdown, break_down, groups_of
from lupi.forecasting.digests import Recognised, recognise
from lupi.forecasting.forecast import Forecast
from lupi.forecasting.forecaster import Forecaster
from lupi.forecasting.questions import check_columns, wrong_values
from lupi.forecasting.recovered import Recovered
from lupi.forecasting.refusals import refusal
from lupi.forecasting.widening import Widening
from lupi.metrics import Estimate


class TableEvaluation(NamedTuple):
    """How a forecaster did, and what that was found from."""

    metrics: dict[str, dict[str, Estimate]]
    """For each observed column, mean and standard error over series of each metric of `Scores`."""
    parts: dict[str, dict[str, dict[str, Estimate]]]
    """The same of the parts of the forecaster alone, by name: of its networks and of the plain
    guesses. Empty where it is not a blend."""
    scores: Scores
    forecast: Forecast
    """Of all observations that were held back."""
    truth: Float[np.ndarray, "row observed"]
    """What was observed there; NaN where nothing was."""
    privileged: dict[str, dict[str, float]]
    """For each privileged column that both the model and the table have: `r2` and `rmse` of the
    value recovered, and `coverage_90` of its interval."""
    breakdown: dict[str, Breakdown]
    """The metrics by points seen and by distance beyond the last of them: of the forecaster, as
    `"forecaster"`, and of each of its parts, by name."""
    recognised: Recognised
    """Whether the forecaster was trained on series of the table."""
    widening: list[Widening]
    """By how much what the networks say was widened; none where it was not."""
    refused: dict[Any, str]
    """Series that are in no score, by label, with the reason."""

    def __repr__(self) -> str:
        return f"<TableEvaluation: {len(self.forecast)} series, {len(self.refused)} refused>"

    def _repr_html_(self) -> str:
        import pandas as pd

        means = {
            name: {metric: value.mean for metric, value in found.items()}
            for name, found in self.metrics.items()
        }
        return as_html(self, lambda: pd.DataFrame(means).to_html())

    # As a tuple it would be compared array by array, which has no truth value.
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__


def evaluate(
    forecaster: Forecaster,
    table: SeriesTable,
    *,
    context: str = "5:9",
    num_samples: int = 64,
    seed: int = 0,
) -> TableEvaluation:
    """Show the forecaster some observations of each series, and ask it for all others.

    `context` says which: 5 to 9 at random, or a share of each series, such as `first:0.33`,
    `last:0.33`, `random:0.33` or `gap:0.5` (all but the middle half). Series that cannot be judged
    or forecast are left out, and `refused` says why.
    """
    seed = check_seed(seed)
    check_columns(check_is_table(table), forecaster.columns)
    table, refused = _fit_to_judge(table, forecaster.normalisation)
    shown_rows = _draw_contexts(table, read_context(context), seed)
    seen, held_back = as_new(table.rows(shown_rows)), table.rows(~shown_rows)
    times = {
        label: original_times(table.columns, held_back.times[slice(*held_back.offsets[i : i + 2])])
        for i, label in enumerate(held_back.labels.tolist())
    }
    how: dict[str, Any] = {"num_samples": num_samples, "seed": seed}
    forecast = forecaster.predict(seen, times, **how)
    judged = np.array([label not in forecast.refused for label in table.labels.tolist()])
    table, seen, held_back = (part[judged] for part in (table, seen, held_back))
    times = {label: times[label] for label in table.labels.tolist()}
    scores = _score_series(forecast, held_back)
    observed = table.columns.observed
    groups = groups_of(seen, held_back, forecaster.normalisation.time_scale)
    breakdown = {"forecaster": break_down(forecast, held_back, groups, scores, _score_series)}

    def alone(name: str) -> dict[str, dict[str, Estimate]]:
        found = forecaster.predict(seen, times, by=name, **how)
        scores = _score_series(found, held_back)
        breakdown[name] = break_down(found, held_back, groups, scores, _score_series)
        return scores.by_column(observed)

    return TableEvaluation(
        scores.by_column(observed),
        {name: alone(name) for name in forecaster.parts},
        scores,
        forecast,
        held_back.values,
        _judge_recovered(forecast.privileged, table),
        breakdown,
        recognise(forecaster.provenance, table),
        forecaster.widening,
        refused | forecast.refused,
    )


def _judge_recovered(found: Recovered | None, table: SeriesTable) -> dict[str, dict[str, float]]:
    if found is None:
        return {}
    names, there = found.columns.privileged, table.columns.privileged
    truth = np.full((len(table), len(names)), np.nan)
    for j, name in enumerate(names):
        if name in there:
            truth[:, j] = table.privileged[:, there.index(name)]
    truth = found.normalisation.to_model_privileged(truth)
    errors, inside = judge_values(found.mixture, truth)
    judged = {}
    for j, (name, scale) in enumerate(
        zip(names, found.normalisation.privileged_scale, strict=True)
    ):
        known = ~np.isnan(truth[:, j])
        if known.sum() < 2:
            continue
        mse = float(np.mean(errors[known, j] ** 2))
        judged[name] = {
            "r2": float(1 - mse / np.var(truth[known, j])),
            "rmse": scale * mse**0.5,
            "coverage_90": float(inside[known, j].mean()),
        }
    return judged


def as_new(table: SeriesTable) -> SeriesTable:
    """The table as it would be of new series: without privileged columns."""
    columns = table.columns.model_copy(update={"privileged": ()})
    return replace(table, columns=columns, privileged=np.zeros((len(table), 0)))


class _Context(NamedTuple):
    """Which observations of a series are shown."""

    kind: str
    sizes: tuple[int, int]
    """Of random ones: the least and the largest number."""
    share: float
    """Of other kinds, and of random ones where there are no numbers: how many of all."""

    def choose(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Which of so many points, in their order; at least one, and not all."""
        size = (
            rng.integers(*self.sizes, endpoint=True)
            if self.share == 0
            else (round((1 - self.share if self.kind == "gap" else self.share) * number))
        )
        size = int(np.clip(size, 1, number - 1))
        if self.kind == "random":
            return rng.choice(number, size, replace=False)
        start = {"first": size, "last": 0, "gap": (size + 1) // 2}[self.kind]
        return np.delete(np.arange(number), slice(start, start + number - size))


KINDS = ("first", "last", "gap", "random")


def read_context(text: str) -> _Context:
    """What a user says of it."""
    first, _, second = str(text).partition(":")
    try:
        if first in KINDS and 0 < float(second) < 1:
            return _Context(first, (1, 1), float(second))
        if 1 <= int(first) <= int(second) < 2**31:
            return _Context("random", (int(first), int(second)), 0.0)
    except ValueError:
        pass
    raise UserError(
        "context must be two numbers of random observations, the smaller first, such as 5:9, or "
        f"one of {', '.join(KINDS)} with a share of each series, such as first:0.33, got "
        f"{text!r:.40}."
    )


def _fit_to_judge(
    table: SeriesTable, normalisation: Normalisation
) -> tuple[SeriesTable, dict[Any, str]]:
    """The series that can be judged, and why the others cannot."""
    labels = table.labels.tolist()
    short = "has 1 observation, judging needs one to show and one to hold back: give more."
    # Of what is held back too. A value may be as strange as it likes, so long as its score is a
    # number.
    reasons = wrong_values(table, normalisation, farthest=FARTHEST)
    reasons |= dict.fromkeys(np.flatnonzero(table.lengths < 2).tolist(), short)
    if len(reasons) == len(table):
        more = f" None of the {len(table)} series can be judged." if len(table) > 1 else ""
        raise UserError(refusal(table.columns, labels[0], reasons[0]) + more)
    fit = ~np.isin(np.arange(len(table)), list(reasons))
    return table[fit], {labels[i]: reasons[i] for i in sorted(reasons)} | table.unfit


def _draw_contexts(table: SeriesTable, context: _Context, seed: int) -> np.ndarray:
    """Which rows are shown."""
    rng = np.random.default_rng(seed)
    chosen = np.zeros(len(table.times), bool)
    for i, number in enumerate(table.lengths.tolist()):
        chosen[table.offsets[i] + context.choose(number, rng)] = True
    return chosen


def _score_series(forecast: Forecast, truth: SeriesTable) -> Scores:
    """What the rows of each series score, padded only to others of about its length."""
    padded = np.array([padded_size(length, 1) for length in truth.lengths.tolist()])
    parts = []
    for size in np.unique(padded):
        chosen = np.flatnonzero(padded == size)
        position = np.arange(size)
        there = position < truth.lengths[chosen][:, None]
        rows = np.where(there, truth.offsets[chosen][:, None] + position, 0)
        y = truth.values[rows]
        known = there[..., None] & ~np.isnan(y)
        means, scales = (
            np.moveaxis(part[:, rows].astype(float), 0, 1)
            for part in (forecast.mixture.means, forecast.mixture.scales)
        )
        mixture = in_original_units(NormalMixture(means, scales), forecast.normalisation)
        parts.append(score(mixture, y, known))
    return Scores.joined(parts)
