"""One set of forecasts beside another of the same series."""

from typing import NamedTuple

from lupi.errors import UserError
from lupi.evaluation.scoring import Scores
from lupi.metrics import Estimate, estimate, estimate_ratio


class Regret(NamedTuple):
    """What a model falls short of a reference, usually the ideal observer, on the same series."""

    log_likelihood: Estimate
    """Lost with each value, in nats: the mean over series of the differences. 0 is ideal."""
    crps_ratio: Estimate
    """The model's mean CRPS over the reference's. 1 is ideal."""


def regret(model: Scores, reference: Scores) -> Regret:
    """How much worse a model's forecasts are than a reference's, of the same values.

    Series are compared in pairs, so that what makes one hard for both does not blur the result.
    Standard errors are over series. Series without any observed value are left out.
    """
    if model.number.shape != reference.number.shape or (model.number != reference.number).any():
        raise UserError(
            f"regret compares forecasts of the same values, got scores of "
            f"{model.number.sum()} values in {len(model.number)} series and of "
            f"{reference.number.sum()} in {len(reference.number)}: score both on the same tasks."
        )
    seen = model.number.sum(axis=1) > 0
    rows, ideal = (
        {name: values[seen] for name, values in scores.by_series().items()}
        for scores in (model, reference)
    )
    return Regret(
        log_likelihood=estimate(ideal["log_likelihood"] - rows["log_likelihood"]),
        crps_ratio=estimate_ratio(rows["crps"], ideal["crps"]),
    )
