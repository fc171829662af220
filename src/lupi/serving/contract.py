"""What is asked and answered over HTTP, as types."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

MOST_TIMES, MOST_SAMPLES, MOST_TRAJECTORIES, MOST_LEVELS = 4096, 256, 64, 32
"""Of one series, in one request."""

MOST_ROWS = 1_000_000
"""Of a whole answer: series times times."""

CELLS: dict[str, Any] = {
    "items": {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}
}

Cells = Annotated[list[Any], Field(json_schema_extra=CELLS)]
"""Numbers, text (dates, labels, categories) or null; lupi says what is wrong with others."""


class Contract(BaseModel):
    """What all of them share: no field that is not named, docstrings as descriptions."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class ForecastRequest(Contract):
    """What is asked of a model."""

    model: str | None = None
    """Its name in `/v1/models`; the first by default."""
    observations: dict[str, Cells] | None = None
    """Columns by name, one entry for each row: time and observed columns, and for several series
    the series column. A missing value is null. Without any: what the model believes of a run it has
    seen nothing of."""
    times: Cells | dict[str, Cells] | None = None
    """Where to forecast: one list for all series, or lists by series. Default: 100 over the span of
    the training data."""
    starts: dict[str, Any] | None = None
    """When series with dates began, by series, where that was before their first observation."""
    known: dict[str, Any] | None = None
    """Columns that training knew of new runs too, such as a dose; or dictionaries of them by
    series."""
    privileged: dict[str, Any] | None = None
    """Privileged values that are known of the new runs all the same, or dictionaries by series."""
    inference: str | None = None
    """`amortised` is the encoder alone, `refined` searches in the decoder; the model's own by
    default."""
    coverage: float = Field(default=0.9, gt=0, lt=1)
    """Of the interval from lower to upper."""
    quantiles: list[float] = Field(default=[], max_length=MOST_LEVELS)
    """Levels of quantiles to be added."""
    trajectories: int = Field(default=0, ge=0, le=MOST_TRAJECTORIES)
    """How many possible trajectories to add, each of one system that it could be, without noise."""
    num_samples: int = Field(default=64, ge=2, le=MOST_SAMPLES)
    """Of the unknown system; more make smoother intervals."""
    seed: int = 0
    """Of the samples."""


class Estimate(Contract):
    """A privileged value as far as the observations tell it."""

    mean: float | None
    std: float | None
    lower: float | None
    upper: float | None


class NextTime(Contract):
    """When one more observation would tell most."""

    time: float | str
    gain: float | None
    """The information that it is expected to give, in nats."""


Values = dict[str, list[float | None]]
"""By observed column, one entry for each time."""


class SeriesForecast(Contract):
    """The forecast of one series."""

    label: int | float | str | None
    """Null where there is one series without a name."""
    observations: int
    """How many it was made from."""
    times: list[float | str]
    mean: Values
    std: Values
    lower: Values
    upper: Values
    quantiles: dict[str, Values]
    """By level."""
    trajectories: dict[str, list[list[float | None]]]
    """By observed column, a list of values for each."""
    privileged: dict[str, Estimate] | None
    """None where training had none."""
    surprise: float | None
    """A p-value: near 0 the series is like none of the systems that the model knows."""
    effective_share: float | None
    """Of the samples; far below 1 they are a best guess."""
    best_next_time: NextTime
    warnings: list[str]
    """Why intervals may be too narrow."""


class ForecastAnswer(Contract):
    """Forecasts of all series that can be forecast."""

    model: str
    inference: str
    series: list[SeriesForecast]
    refused: dict[str, str]
    """The other series, each with the reason."""


class ModelInfo(Contract):
    """A model that is served."""

    name: str
    label: str
    """As legends show it."""
    title: str
    system: str | None
    """The built-in system that it is of."""
    file: str | None
    """What its file is called; none of a built-in one."""
    time: str
    series: str | None
    observed: list[str]
    privileged: list[str]
    known: list[str]
    known_usual: dict[str, float | str]
    """Of each known column a value to begin with."""
    categories: dict[str, list[str]]
    units: dict[str, str]
    dates: bool
    """Whether times are dates."""
    clock: str
    """What dates count from: the beginning of the run, of its day, its week or its year; or one
    time for all runs, as numbers do (`common`)."""
    origin: str | None
    """When the run began whose span is told, where each counts time from a beginning of its own."""
    gaps: bool
    """Whether observed values may be missing."""
    span: list[float | str]
    """The first and the last time that it has learnt from."""
    ranges: dict[str, list[float]]
    """Of observed columns: where most values lie."""
    privileged_ranges: dict[str, list[float]]
    inference: str
    learnt_from: tuple[int, int]
    """The least and the largest number of observations that training forecasts from."""
    trained_on: int
    """Series."""


class Readiness(Contract):
    """How far the server is with what it compiles before the first question."""

    done: int
    total: int

    @property
    def ready(self) -> bool:
        """Whether nothing is left."""
        return self.done >= self.total


class ModelList(Contract):
    """Every model that is served; the first is the default."""

    models: list[ModelInfo]
    readiness: Readiness


class Health(Contract):
    """That it is there."""

    status: str
    readiness: Readiness


class Parameter(Contract):
    """A parameter in which the members of a family differ."""

    name: str
    value: float
    low: float
    high: float
    """From `low` to `high` members are drawn, and models have learnt."""
    least: float
    most: float
    """What may be asked for."""


class Truth(Contract):
    """One member of a built-in system, and its exact course."""

    name: str
    title: str
    time: str
    quantities: list[str]
    """The observed columns in words."""
    privileged_words: str
    parameters: list[Parameter]
    privileged: dict[str, float]
    times: list[float]
    values: dict[str, list[float]]


class Problem(Contract):
    """What was expected, what arrived, what to do."""

    error: str
