"""`lupi train`."""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from lupi._machinery.files import locked, target_of
from lupi._machinery.stopping import told_if_stopped
from lupi.commands.options import GOES_ON, NOTHING_SAVED, ColumnOptions, Json, Whole, show
from lupi.commands.out_of_fold import show_out_of_fold
from lupi.commands.outputs import Overwrite, check_files, refuse_existing
from lupi.errors import UserError, check_seed

Pair = Annotated[tuple[Whole, Whole], Parameter(negative="")]


@dataclass(frozen=True)
class TrainOptions:
    """How it is trained: `TrainingSettings`, without waiting for what checks them.

    Parameters
    ----------
    epochs
        How often training goes through the runs. Default: as often as makes 20,000 steps.
    learning_rate
        The size of a step.
    batch_size
        Runs in a step.
    context_sizes
        The least and the largest number of observations that training forecasts from.
    contexts
        Which observations these are: the shares of random, first, last, gap, one and none, such as
        --train.contexts.random 1 --train.contexts.first 2. Default: some of each.
    target_sizes
        The least and the largest number of observations that it compares its forecasts with.
    decay
        Let the size of steps rise at first and then fall to 0.
    max_gradient
        The largest norm of a step's gradient; a longer one is shortened to it.
    keep_best
        Keep the weights that do best on the runs held out, where these agree that they are better
        than the last ones.
    validations
        How often in all the runs held out are looked at.
    validation_draws
        Random forecasts of each run held out, each time.
    """

    epochs: Whole | None = None
    learning_rate: float | None = None
    batch_size: Whole | None = None
    context_sizes: Pair | None = None
    contexts: dict[str, float] | None = None
    target_sizes: Pair | None = None
    decay: bool | None = None
    max_gradient: float | None = None
    keep_best: bool | None = None
    validations: Whole | None = None
    validation_draws: Whole | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class SettingOptions:
    """Settings; one given here goes before the file and the preset.

    Parameters
    ----------
    train
        How it is trained.
    process
        What the model is like, such as --process.hidden-size 64; `lupi models lupi` lists all.
    objective
        What training makes small: elbo, npml, importance or renyi (docs/models.md). Default: the
        model's, or the preset's in the place of the paper's.
    inference
        How a forecast finds out which system it is: refined, by asking the trained model which one
        explains the observations, or amortised, by one pass of its encoder. Default: the preset's.
    members
        Networks, each of which leaves out other runs. Default: 4, or 1 for the paper's preset.
    blend
        Blend the networks with plain guesses (the mean of past runs, a Gaussian process and others)
        and widen their intervals, by how all of them do on runs they have not seen. Default: yes,
        but not for the paper's preset.
    validation_share
        Of the runs, chosen at random: held out by a single network, to see when training is best.
        Default: 0.1.
    find_positive
        Take observed columns that have no value below 0 for positive, as --positive does, where
        plain guesses forecast runs left out better by their logarithms. Default: as --blend.
    choose
        Train networks with another weight of the divergence and of another width too, and take
        those that forecast runs left out best; takes about three times as long.
    """

    train: TrainOptions | None = None
    process: dict[str, str] | None = None
    objective: str | None = None
    inference: str | None = None
    members: Whole | None = None
    blend: bool | None = None
    validation_share: float | None = None
    find_positive: bool | None = None
    choose: bool | None = None

    def as_dictionary(self) -> dict[str, Any]:
        """What was given."""
        given: dict[str, Any] = {}
        if self.train is not None:
            given["train"] = {k: v for k, v in vars(self.train).items() if v is not None}
        if self.process is not None:
            given["process"] = {k.replace("-", "_"): v for k, v in self.process.items()}
        others = {k: v for k, v in vars(self).items() if k not in ("train", "process")}
        return given | {name: value for name, value in others.items() if value is not None}


def train(
    file: str,
    /,
    *,
    columns: ColumnOptions,
    out: Path,
    model: str | None = None,
    seed: Whole = 0,
    preset: Literal["default", "paper"] = "default",
    config: Path | None = None,
    settings: SettingOptions | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Train a forecaster on a table of past runs.

    Stop it at any time: the same command goes on where it stopped, to the result it would have had.
    Where that is there already, it says so and changes nothing.

    Parameters
    ----------
    file
        CSV, TSV, Parquet or NetCDF, in long format: a row for each time of each run.
    out
        The file for the trained forecaster, such as springs.lupi.
    model
        Which model: lupi unless told otherwise; `lupi models` lists them.
    seed
        Another seed holds out other runs and starts from other weights.
    preset
        Settings to begin with: default, or paper for those of the paper.
    config
        A TOML file of settings, with tables [process] and [train]; options here go before it.
    overwrite
        Put the trained forecaster in the place of a file that is there, once it is finished.
    json
        Print JSON for programs.
    """
    from lupi.data.reading import read_series
    from lupi.data.suggestions import suggest
    from lupi.forecasting import Forecaster, forecaster_settings
    from lupi.forecasting.choosing import checkpoints
    from lupi.forecasting.finished import read_same

    chosen = {} if config is None else _read_config(config)
    if settings is not None:
        chosen = _merged(chosen, settings.as_dictionary())
    if model is not None:
        chosen["model"] = model
    try:
        complete = forecaster_settings(preset, **chosen)
    except UserError as error:
        raise UserError(str(error) if config is None else f"{config}: {error}") from None
    check_seed(seed)
    target = target_of(out)
    checkpoint = target.with_name(f"{target.name}.checkpoint")
    kept = checkpoints(checkpoint, complete)
    table = [("the table", file), ("--privileged-table", columns.privileged_table)]
    check_files(
        reads=[*table, ("--config", config)],
        writes=[("--out", out), *(("the checkpoint", Path(one)) for one in kept)],
        overwrite=True,  # what may be written over is seen from what is in it
    )
    series = read_series(file, **columns.as_arguments())
    complete = complete.suited_to(series)
    for advice in suggest(series, positive=not complete.find_positive):
        print(f"lupi: {advice}", file=sys.stderr)
    busy = f"another `lupi train` is writing {out}: wait for it, or give another --out."
    with locked(target.with_name(f".{target.name}.lock"), busy):
        same = read_same(target, series, complete, seed=seed)
        if same is not None and not same["interrupted"]:
            print(
                f"lupi: {out} is finished, from the same data, settings and seed; nothing was "
                "changed. Delete it to train again.",
                file=sys.stderr,
            )
            _show(out, same, json)
            return
        if same is None and not overwrite:
            refuse_existing("--out", out)
        forecaster = Forecaster(complete)
        with told_if_stopped(lambda: GOES_ON if checkpoint.exists() else NOTHING_SAVED):
            try:
                forecaster.fit(series, seed=seed, checkpoint=checkpoint)
            except UserError:  # of training that had to stop; a finished file is worth more
                if forecaster.is_fitted and (same is not None or not target.exists()):
                    forecaster.save(target)
                raise
            if forecaster.provenance["interrupted"]:
                raise KeyboardInterrupt
            forecaster.save(target)
        for one in kept:
            Path(one).unlink(missing_ok=True)
    _show(out, forecaster.provenance, json)


def _show(out: Path, provenance: dict[str, Any], json: bool) -> None:
    """What was made, and how it did on runs left out."""
    names = ("epochs", "best_epoch", "seconds", "interrupted", "validation")
    names += tuple(name for name in ("positive", "tried") if name in provenance)
    names += tuple(name for name in ("out_of_fold", "weights") if name in provenance and json)
    told = {"model": str(out), "bytes": out.stat().st_size}
    show(told | {name: provenance[name] for name in names}, as_json=json)
    if not json:
        show_out_of_fold(provenance)


TABLES = ("process", "train")

LARGEST_CONFIG, DEEPEST = 16_384, 5
"""Bytes of a file of settings, and tables within tables."""


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(f"expected a TOML file at {path}, found none: check --config.")
    nested = UserError(
        f"{path}: expected settings in tables [process] and [train], got values nested without end."
    )
    size = path.stat().st_size
    if size > LARGEST_CONFIG:  # a key of very many parts takes minutes to be read
        raise UserError(
            f"{path}: expected a file of settings of up to {LARGEST_CONFIG:,} bytes, got {size:,}."
        )
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except ValueError as error:  # also a whole number of thousands of digits
        raise UserError(f"{path} is no TOML file: {error}.") from None
    except RecursionError:
        raise nested from None
    level: list[Any] = [content]
    for _ in range(DEEPEST):
        tables = [list(one.values() if isinstance(one, dict) else one) for one in level]
        level = [one for some in tables for one in some if isinstance(one, dict | list)]
    if level:
        raise nested
    if "preset" in content:
        raise UserError(f"{path}: a preset is chosen with --preset: leave it out of the file.")
    for name in TABLES:
        if not isinstance(content.get(name, {}), dict):
            raise UserError(f"{path}: expected a table [{name}], got {content[name]!r:.40}.")
    return content


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in changes.items():
        both = isinstance(value, dict) and isinstance(base.get(name), dict)
        merged[name] = _merged(base[name], value) if both else value
    return merged
