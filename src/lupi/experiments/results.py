"""Saved results: their form, where they lie, and how they are read."""

import hashlib
import io
import json
import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from lupi._machinery.files import write_atomically
from lupi.errors import UserError
from lupi.registry import MODELS
from lupi.rivals import RIVALS

SCHEMA = 2


class Metric(BaseModel):
    """A mean over systems (or seeds) and its standard error."""

    mean: float
    stderr: float | None


class Record(BaseModel):
    """One trained model, evaluated in one setting."""

    model_config = ConfigDict(extra="forbid")

    experiment: str
    model: str
    seed: int
    mode: str
    metrics: dict[str, Metric]
    seconds: dict[str, float]


class Floor(BaseModel):
    """The error of the mean training trajectory on the test systems of one seed."""

    experiment: str
    seed: int
    mse: Metric


class FinishedRun(BaseModel):
    """What one run leaves behind: both settings, and the floor of its data."""

    records: list[Record]
    floor: Floor
    files: dict[str, str] = {}
    """The checksum of each file that is read again, by its name."""
    checksum: str = ""
    """Of all of the above."""

    def summed(self) -> "FinishedRun":
        """The same with the checksum that belongs to it."""
        text = self.model_copy(update={"checksum": ""}).model_dump_json()
        return self.model_copy(update={"checksum": _sum(text.encode())})


class Failure(BaseModel):
    """A run that could not be finished, and why."""

    experiment: str
    model: str
    seed: int
    reason: str


class Results(BaseModel):
    """`results.json`."""

    schema_: int = SCHEMA
    settings: dict[str, Any]
    records: list[Record]
    floors: list[Floor]
    claims: list[dict[str, Any]]
    failures: list[Failure] = []

    def to_json(self) -> str:
        """The text of the file; standard JSON, so an unknown standard error is null."""
        content = self.model_dump()
        content = {"schema": content.pop("schema_")} | content
        return json.dumps(content, indent=1, allow_nan=False) + "\n"


class RunFolder(NamedTuple):
    """Where one run keeps its files, under the output folder."""

    out: Path
    experiment: str
    model: str
    seed: int

    @property
    def path(self) -> Path:
        """The folder itself."""
        # A colon, as in `lupi:shuffled`, is no part of a file's name everywhere.
        model = self.model.replace(":", "+")
        return self.out / "runs" / self.experiment / model / f"seed-{self.seed}"

    @property
    def model_file(self) -> Path:
        """The trained process; `lupi.load_process` reads it."""
        return self.path / "model.safetensors"

    @property
    def history_file(self) -> Path:
        """The terms of every epoch, as CSV, growing while the run trains."""
        return self.path / "history.csv"

    @property
    def predictions_file(self) -> Path:
        """Test systems, contexts and predictions, as NumPy arrays."""
        return self.path / "predictions.npz"

    @property
    def finished_file(self) -> Path:
        """Written last: it exists only if all of the run does."""
        return self.path / "run.json"

    @property
    def failed_file(self) -> Path:
        """Why the run could not be finished, if it could not."""
        return self.path / "failed.txt"

    @property
    def _files(self) -> tuple[Path, ...]:
        """What a finished run has beside `run.json`; a rival has nothing to train and to keep."""
        trained = () if self.model in RIVALS else (self.model_file, self.history_file)
        return *trained, self.predictions_file

    def finished(self) -> FinishedRun | None:
        """What the run left behind, or None if it is not finished or no longer whole."""
        if not all(file.exists() for file in (self.finished_file, *self._files)):
            return None
        try:
            run = FinishedRun.model_validate_json(self.finished_file.read_bytes())
        except ValidationError as error:
            raise self._foreign(f"{error.error_count()} errors") from None
        if run.checksum and run.checksum != run.summed().checksum:
            raise self._foreign("its checksum is another")
        own = self[1:]
        if any((one.experiment, one.model, one.seed) != own for one in run.records):
            raise self._foreign("it is of another run")
        return run

    def _foreign(self, why: str) -> UserError:
        return UserError(
            f"{self.finished_file} is not what `lupi reproduce` wrote there ({why}): delete that "
            "file and run again."
        )

    def finish(self, run: FinishedRun) -> None:
        """Write `run.json`, when all other files of the run are there."""
        files = (file for file in self._files if file != self.model_file)
        sums = {file.name: _sum(file.read_bytes()) for file in files}
        whole = run.model_copy(update={"files": sums}).summed()
        write_atomically(self.finished_file, whole.model_dump_json(indent=1))

    def _read(self, file: Path) -> bytes:
        """A file of the run, as it was when the run was finished."""
        content, run = file.read_bytes(), self.finished()
        if run is not None and run.files.get(file.name, _sum(content)) != _sum(content):
            raise _damaged(file)
        return content

    def epochs_done(self) -> int:
        """How many epochs the run has trained, by its history."""
        try:
            return max(self.history_file.read_bytes().count(b"\n") - 1, 0)
        except FileNotFoundError:
            return 0

    def history(self) -> dict[str, np.ndarray]:
        """Each column of the history; NaN where an epoch was not validated."""
        content = self._read(self.history_file)
        try:
            names, *rows = content.decode().splitlines()
            columns = zip(
                *([float(v or "nan") for v in row.split(",")] for row in rows), strict=True
            )
            return {n: np.array(c) for n, c in zip(names.split(","), columns, strict=True)}
        except ValueError:
            raise _damaged(self.history_file) from None

    def predictions(self) -> dict[str, np.ndarray]:
        """The arrays of `predictions.npz` by name.

        `times` has a row for each system where they have their own; `known` says, where it is
        there, which values were observed and are not padding.
        """
        content = io.BytesIO(self._read(self.predictions_file))
        try:
            with np.load(content, allow_pickle=False) as file:
                return dict(file)
        except Exception:  # whatever zip and NumPy come to with bytes that are not theirs
            raise _damaged(self.predictions_file) from None

    def save_predictions(self, arrays: dict[str, np.ndarray]) -> None:
        """Write `predictions.npz`."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        write_atomically(self.predictions_file, buffer.getvalue())


def read_results(out: Path) -> Results:
    """Read `results.json` of an output folder."""
    path = out / "results.json"
    if not path.is_file():
        raise UserError(f"expected results at {path}, found none: run `lupi reproduce` first.")
    try:
        content = json.loads(path.read_bytes())
        schema = content.get("schema")
    except (ValueError, RecursionError, AttributeError):
        content, schema = {}, None
    if schema != SCHEMA:
        raise UserError(
            f"{path} has schema {schema!s:.20}, this version reads {SCHEMA}: "
            "run `lupi reproduce` into a new folder."
        )
    content["schema_"] = content.pop("schema")
    try:
        return Results.model_validate(content)
    except ValidationError as error:
        raise UserError(
            f"{path} is not what `lupi reproduce` wrote there ({error.error_count()} errors): run "
            "the same command again, which writes it anew."
        ) from None


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _damaged(file: Path) -> UserError:
    return UserError(
        f"{file} is damaged: delete that file and run the same command again, which redoes this "
        "run."
    )


def finished_folders(
    out: Path, experiments: Iterable[str], models: Iterable[str] = tuple(MODELS)
) -> list[RunFolder]:
    """The folders of all finished runs, in the order of the experiments, models and seeds."""
    found = []
    for experiment, model in product(experiments, models):
        place = RunFolder(out, experiment, model, 0).path.parent
        seeds = [file.parent for file in place.glob("*/run.json")]
        for folder in seeds:
            if not re.fullmatch(r"seed-(0|[1-9][0-9]{0,9})", folder.name):
                raise UserError(
                    f"expected folders seed-0, seed-1, ... in {folder.parent}, found "
                    f"{folder.name!r}: move it elsewhere."
                )
        numbers = sorted(int(folder.name.removeprefix("seed-")) for folder in seeds)
        folders = [RunFolder(out, experiment, model, seed) for seed in numbers]
        found += [folder for folder in folders if folder.finished() is not None]
    return found


def failures(out: Path, experiments: Iterable[str], models: Iterable[str]) -> list[Failure]:
    """The runs of a folder that could not be finished."""
    found = []
    for experiment, model in product(experiments, models):
        place = RunFolder(out, experiment, model, 0).path.parent
        for file in sorted(place.glob("seed-*/failed.txt")):
            seed = int(file.parent.name.removeprefix("seed-"))
            reason = file.read_text(errors="replace").strip()
            found.append(Failure(experiment=experiment, model=model, seed=seed, reason=reason))
    return found
