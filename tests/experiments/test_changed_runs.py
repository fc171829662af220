"""A reproduction's files that are not as they were written, or stand where they do not belong."""

import json
import shutil

import numpy as np
import pytest

from lupi.errors import UserError
from lupi.experiments.results import RunFolder, finished_folders, read_results
from lupi.report import write_report


@pytest.fixture
def copy(smoke_run, tmp_path):
    shutil.copytree(smoke_run, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def run(copy) -> RunFolder:
    return RunFolder(copy, "stiffness", "nopi", 0)


READ = {"history.csv": RunFolder.history, "predictions.npz": RunFolder.predictions}


@pytest.mark.parametrize("name", READ)
def test_no_bit_of_a_runs_files_can_be_changed_without_notice(run, name):
    path = run.path / name
    content, rng = path.read_bytes(), np.random.default_rng(0)
    READ[name](run)
    for place in rng.integers(0, len(content), 20).tolist():
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        with pytest.raises(UserError, match="is damaged: delete that file and run the same"):
            READ[name](run)


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"epoch,loss\n1\n", b"PK\x03\x04"])
def test_a_file_of_another_kind_is_refused_where_there_is_no_checksum(run, name, content):
    run.finished_file.unlink()
    (run.path / name).write_bytes(content)
    with pytest.raises(UserError, match="is damaged"):
        READ[name](run)


def test_a_number_changed_in_a_finished_run_is_noticed(run):
    content = json.loads(run.finished_file.read_text())
    content["records"][0]["metrics"]["mse"]["mean"] *= 0.5
    run.finished_file.write_text(json.dumps(content))
    with pytest.raises(UserError, match="its checksum is another"):
        run.finished()


def test_a_run_that_was_copied_into_anothers_place_is_refused(copy, run):
    shutil.copytree(run.path, RunFolder(copy, "stiffness", "nopi", 5).path)
    with pytest.raises(UserError, match="it is of another run"):
        finished_folders(copy, ["stiffness"])


@pytest.mark.parametrize("name", ["seed-one", "seed-0 copy", "seed-01", "backup"])
def test_a_stray_folder_is_named(copy, run, name):
    shutil.copytree(run.path, run.path.with_name(name))
    with pytest.raises(UserError, match=f"expected folders seed-0, seed-1, .*, found '{name}'"):
        write_report(copy)


@pytest.mark.parametrize("content", ["", "[]", "[" * 100_000, '{"schema": 2}', "\x00"])
def test_results_that_are_none_are_refused(copy, content):
    (copy / "results.json").write_text(content)
    with pytest.raises(UserError, match="lupi reproduce"):
        read_results(copy)
