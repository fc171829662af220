"""`lupi train`."""

import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import ValidationError

from lupi.commands.options import ColumnOptions, Json, refuse_overwriting, show
from lupi.errors import UserError, settings_problem
from lupi.forecaster import Forecaster
from lupi.presets import ForecasterSettings


def train(
    file: str,
    /,
    *,
    columns: ColumnOptions,
    out: Path,
    seed: int = 0,
    preset: Literal["default", "paper"] = "default",
    config: Path | None = None,
    settings: Annotated[ForecasterSettings | None, Parameter(name="*")] = None,
    json: Json = False,
) -> None:
    """Train a forecaster on a table of past runs.

    Stop it at any time: the best so far is kept, and the same command goes on where it stopped,
    to the result it would have had.

    Parameters
    ----------
    file
        CSV, TSV, Parquet or NetCDF, in long format: a row for each time of each run.
    out
        The file for the trained forecaster, such as springs.lupi.
    seed
        Another seed holds out other runs and starts from other weights.
    preset
        Settings to begin with: default, or paper for those of the paper.
    config
        A TOML file of settings, with tables [process] and [train]; options here go before it.
    json
        Print JSON for programs.
    """
    from lupi.data.reading import read_tasks

    chosen = ForecasterSettings.preset(preset).model_dump()
    if config is not None:
        chosen = _merged(chosen, _read_config(config))
    if settings is not None:
        chosen = _merged(chosen, settings.model_dump(exclude_unset=True))
    try:
        chosen = ForecasterSettings.model_validate(chosen)
    except ValidationError as error:
        raise UserError(f"{config}: {settings_problem(error)}") from None
    refuse_overwriting(out, file)
    tasks = read_tasks(file, **columns.as_arguments(), min_points=2)
    forecaster = Forecaster(chosen)
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    try:
        forecaster.fit(tasks, seed=seed, checkpoint=checkpoint)
    finally:
        if forecaster.is_fitted:  # also where training had to stop
            forecaster.save(out)
    provenance = forecaster.provenance
    if provenance["interrupted"]:
        print(
            f"lupi: stopped after epoch {provenance['epochs']}; the best so far is in {out}. "
            "The same command goes on from here.",
            file=sys.stderr,
        )
        sys.exit(130)
    checkpoint.unlink(missing_ok=True)
    names = ("epochs", "best_epoch", "seconds", "interrupted", "validation")
    show({"model": str(out)} | {name: provenance[name] for name in names}, as_json=json)


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(f"expected a TOML file at {path}, found none: check --config.")
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no TOML file: {error}.") from None


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in changes.items():
        both = isinstance(value, dict) and isinstance(base.get(name), dict)
        merged[name] = _merged(base[name], value) if both else value
    return merged
