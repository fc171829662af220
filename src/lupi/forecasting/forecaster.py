"""One object over it all: from a table of past runs to forecasts of new ones."""

import copy
import io
import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from pydantic import ValidationError

from lupi._machinery.forks import check_not_forked
from lupi.data.normalisation import Normalisation
from lupi.data.problems import listed
from lupi.data.series_table import Columns, check_is_table, original_times
from lupi.distributions import NormalMixture
from lupi.errors import UserError, UserNotice, check_seed, check_whole, settings_problem
from lupi.forecasting.answers import answer_question, without_runaways
from lupi.forecasting.choosing import learn_and_choose
from lupi.forecasting.fitted import NETWORKS, Fitted
from lupi.forecasting.fitted_file import load_fitted, save_fitted
from lupi.forecasting.forecast import Forecast, forecast_columns
from lupi.forecasting.learning import learn
from lupi.forecasting.progress import say
from lupi.forecasting.questions import Trained, read_question
from lupi.forecasting.recovered import Recovered
from lupi.forecasting.settings import ForecasterSettings, forecaster_settings
from lupi.forecasting.widening import Widening, widening
from lupi.models import AbstractPredictor, AbstractProcess, Findings
from lupi.training import EpochRow


class Forecaster:
    """Learns from a table of past runs, and forecasts new runs from a few observations.

    ```python
    series = lupi.read_series("runs.csv", series="run", time="t", observed="x", privileged="k")
    forecaster = lupi.Forecaster().fit(series, seed=0)
    forecast = forecaster.predict(new_run, times)
    ```
    """

    def __init__(self, settings: ForecasterSettings | str = "default", **changes: Any):
        """The name of a preset and what to change of it, as `forecaster_settings` takes them; or
        settings as a whole."""
        if isinstance(settings, str):
            settings = forecaster_settings(settings, **changes)
        elif changes:
            raise UserError(
                f"got whole settings and changes to a preset ({', '.join(changes)}): give one of "
                "them; `forecaster_settings` makes settings from both."
            )
        if not isinstance(settings, ForecasterSettings):
            raise UserError(
                "expected the name of a preset or what `forecaster_settings` gives, got "
                f"{type(settings).__name__}."
            )
        self.settings = settings
        self._fitted: Fitted | None = None

    def __repr__(self) -> str:
        number = self.settings.members if self._fitted is None else len(self._fitted.members)
        networks = f"{number} network{'s' if number > 1 else ''} of {self.settings.model!r}"
        if self._fitted is None:
            return f"<Forecaster: {networks}, not trained>"
        series = self._fitted.provenance["data"]["series"]
        return f"<Forecaster: {networks}, {series} series of {self.columns.in_words()}>"

    def __eq__(self, other: object) -> bool:
        """Whether all of it is the same: settings, weights, units, columns and provenance."""
        if not isinstance(other, Forecaster):
            return NotImplemented
        if self.settings != other.settings or self.is_fitted != other.is_fitted:
            return False
        ours, theirs = (one._fitted and one._fitted.contents for one in (self, other))
        return ours is theirs or bool(eqx.tree_equal(*jax.device_get((ours, theirs))))

    def __hash__(self) -> int:
        return hash(self.settings.model_dump_json())

    def __reduce__(self):
        if self._fitted is None:
            return type(self), (self.settings,)
        file = io.BytesIO()
        self.save(file)
        return type(self)._of_bytes, (file.getvalue(),)

    @classmethod
    def _of_bytes(cls, content: bytes) -> "Forecaster":
        return cls.load(io.BytesIO(content))

    def __copy__(self) -> "Forecaster":
        """Another one of the same contents: they never change, `fit` makes new ones."""
        copied = type(self)(self.settings)
        copied._fitted = self._fitted
        return copied

    def __deepcopy__(self, memo: dict) -> "Forecaster":
        return self.__copy__()

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        return self._fitted is not None

    @property
    def processes(self) -> list[AbstractProcess]:
        """The trained processes, each in units of its own."""
        return [member.process for member in self._get().members]

    @property
    def predictor(self) -> AbstractPredictor:
        """What forecasts, in the model's units."""
        return self._get().predictor

    @property
    def parts(self) -> dict[str, float]:
        """What it is blended of, and how much of each; empty where the networks are all of it."""
        return {name: part.weight for name, part in self._get().parts.items()}

    @property
    def widening(self) -> list[Widening]:
        """By how much what the networks say is widened; none where they are all of it."""
        fitted = self._get()
        if fitted.whole is None:
            return []
        return widening(fitted.parts[NETWORKS].calibration, fitted.whole)

    @property
    def columns(self) -> Columns:
        """What it was trained on."""
        return self._get().columns

    @property
    def normalisation(self) -> Normalisation:
        """How original units become the model's."""
        return self._get().normalisation

    @property
    def provenance(self) -> dict[str, Any]:
        """Data, seed, versions, and how training went."""
        return copy.deepcopy(self._get().provenance)

    def fit(
        self,
        series: Any,
        *,
        seed: int = 0,
        checkpoint: str | os.PathLike | None = None,
        on_epoch: Callable[[EpochRow], None] | None = None,
        progress: bool = True,
    ) -> "Forecaster":
        """Train on a table of series; its privileged columns help, and are never needed again.

        Interrupted (Ctrl-C), it keeps the best so far. With a `checkpoint`, a path, a training that
        was stopped in whatever way goes on from there, to the same result. `progress` shows a bar
        on a terminal, and a line now and then where there is none; `on_epoch` sees each epoch's
        losses.
        """
        series = check_is_table(series)
        seed = check_seed(seed)
        check_not_forked()
        forecast_columns(series.columns)  # before hours of training, not after
        told = series.columns.privileged
        if told and not self.settings.privileged_size(len(told)):
            warnings.warn(
                f"{self.settings.model} makes no use of privileged values, so nothing is learnt "
                f"from {listed(told)}: choose a model that does (`lupi models`), such as lupi.",
                UserNotice,
                stacklevel=2,
            )
        settings = self.settings.suited_to(series)
        run = partial(learn, series, seed=seed, on_epoch=on_epoch, progress=progress)
        if settings.choose:
            tell = say if progress else lambda _: None
            learned = learn_and_choose(run, settings, checkpoint=checkpoint, say=tell)
        else:
            learned = run(settings, checkpoint=checkpoint)
        self._fitted, self.settings, stopped_by, _ = learned
        if isinstance(stopped_by, UserError):
            raise UserError(f"{stopped_by} What was best before is kept.") from stopped_by
        return self

    def predict(
        self,
        observations: Any = None,
        times: Any = None,
        *,
        starts: Mapping[Any, Any] | str | None = None,
        known: Any = None,
        privileged: Mapping[Any, Any] | None = None,
        by: str | None = None,
        num_samples: int = 64,
        seed: int = 0,
    ) -> Forecast:
        """Forecast one or several new series from a few observations of each.

        `observations` is anything `read_series` reads, with the columns of the training data but
        the privileged ones (and, for one series, the series column): a dataframe, a dictionary of
        columns, a file. Without any it is what the model believes of a run it has seen nothing of.
        `times`, in original units and any order, before, between and beyond the observations: one
        list for all, or a dictionary of lists by series; by default 100 over the span of the
        training data. With more observations, call it again.

        Series with dates count time by the clock of the training data. When they began, if that was
        before their first observation, is said by the start column of the training data, by another
        column that `starts` names, or by `starts` as a dictionary by series.

        A series that cannot be forecast (observations far from all that was learnt from, gaps where
        training had none, times out of range) is left out: `refused` of the result says why. If
        none can, that is an error.

        Columns that training knew of new runs too (`known=` of `read_series`) are read from the
        observations; rows without an observed value may tell how they go on. Those that are not
        there are given apart: `known={"dose": 3}`, or for several series `{label: {"dose": 3}}`.

        A privileged value is never needed. Where one is known of a new run all the same, it
        sharpens the forecast: `privileged={"k": 0.5}`, or for several series `{label: {"k": 0.5}}`.

        `by` names a part of the forecaster, to see what it says alone: `"lupi"`, the networks as
        they are, or one of the plain guesses that `provenance["weights"]` lists.
        """
        fitted = self._get()
        check_not_forked()
        seed, num_samples = check_seed(seed), check_whole("num_samples", num_samples, least=2)
        trained = Trained(fitted.columns, fitted.normalisation, fitted.provenance["data"]["gaps"])
        question = read_question(observations, times, starts, privileged, known, trained)
        whole = fitted.without_privileged if question.privileged is None else fitted.predictor
        predictor = whole if by is None else fitted.alone(by)
        answer = answer_question(predictor, question, fitted.normalisation, num_samples, seed)
        if by is None:  # a part may say of itself what it likes
            question, answer = without_runaways(question, answer)
        mixture, findings, key = answer
        numbers = [len(times) for times in question.times]
        table = question.table
        return Forecast(
            columns=table.columns,
            normalisation=fitted.normalisation,
            labels=np.repeat(table.labels, numbers),
            times=np.asarray(original_times(table.columns, np.concatenate(question.times))),
            mixture=mixture,
            positions=np.concatenate([np.arange(number) for number in numbers]),
            spans=fitted.normalisation.to_model_times(
                np.concatenate(question.times), np.repeat(question.origins, numbers)
            ),
            key=key,
            observations=table.to_dataframe(),
            seen_spans=fitted.normalisation.to_model_times(
                table.times, np.repeat(question.origins, table.lengths)
            ),
            refused=dict(question.refused),
            unlike=dict(question.unlike),
            learnt_from=self.settings.sizes_learnt_from,
            **self._found(findings, table.labels),
        )

    def with_inference(self, inference: Any) -> "Forecaster":
        """The same networks, asked in another way: `"amortised"` is their encoder alone.

        Nothing is trained again. Plain guesses and widened intervals belong to the inference that
        they were made for, so there are none.
        """
        fitted = self._get()
        changed = {"inference": inference, "blend": False}
        try:
            settings = ForecasterSettings.model_validate(dict(self.settings) | changed)
        except ValidationError as error:
            raise UserError(str(settings_problem(error))) from None
        other = type(self)(settings)
        other._fitted = Fitted(
            settings, fitted.members, fitted.normalisation, fitted.columns, fitted.provenance
        )
        return other

    def _found(self, findings: dict[int, Findings], labels: np.ndarray) -> dict[str, Any]:
        """What a forecast says of each series beside its trajectory."""
        if not findings:
            return {}
        in_order = [findings[i] for i in range(len(labels))]
        found: dict[str, Any] = {
            name: np.array([getattr(one, name) for one in in_order], float)
            for name in ("surprise", "effective_share")
        }
        values = [one.privileged for one in in_order if one.privileged is not None]
        found = {name: array for name, array in found.items() if not np.isnan(array).all()}
        if values:
            mixture = NormalMixture(
                np.stack([value.loc for value in values], axis=1),
                np.stack([value.scale for value in values], axis=1),
            )
            fitted = self._get()
            found["privileged"] = Recovered(fitted.columns, fitted.normalisation, labels, mixture)
        return found

    def save(self, file: Any) -> None:
        """Write everything into one file: weights, settings, normalisation, columns, provenance.

        `file` is a path, or a file that is open for writing bytes.
        """
        save_fitted(file, self._get(), self.settings)

    @classmethod
    def load(cls, file: Any) -> "Forecaster":
        """Read a forecaster that `save` wrote, from a path or from a file that is open for reading
        bytes; it forecasts the same numbers."""
        fitted, settings = load_fitted(file)
        forecaster = cls(settings)
        forecaster._fitted = fitted
        return forecaster

    def _get(self) -> Fitted:
        if self._fitted is None:
            raise UserError("this forecaster has not been trained: call `fit` first, or load one.")
        return self._fitted


def load(file: Any) -> Forecaster:
    """Read a forecaster that `Forecaster.save` wrote, from a path or an open file."""
    return Forecaster.load(file)
