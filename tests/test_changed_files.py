"""A file that is not as it was written is refused, whatever was changed in it."""

import cProfile
import json
import struct
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import lupi
from lupi._machinery.array_files import FORMAT, LONGEST_HEADER, read_arrays, write_arrays
from lupi.cli import main
from lupi.errors import UserError, UserNotice, printable
from lupi.models import NeuralODEProcessSettings, load_process, save_process
from lupi.serving.built_in import FOLDER as BUILT_IN_MODELS
from lupi.training import TrainingSettings, begin
from lupi.training.checkpoint import load_checkpoint, save_checkpoint

OLD = Path(__file__).parent / "old_files" / "forecaster.lupi"


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A small forecaster, as this version saves it."""
    with pytest.warns(UserNotice, match="without a checksum"):
        forecaster = lupi.load(OLD)
    path = tmp_path_factory.mktemp("saved") / "model.lupi"
    forecaster.save(path)
    return path


@pytest.fixture
def state(lupi):
    """A state of training, as after two epochs of which one was validated."""
    rows = [{"epoch": 1, "train_loss": 3.25}, {"epoch": 2, "train_loss": 0.1, "validation_loss": 7}]
    return begin([lupi], TrainingSettings(), 8, 4)._replace(histories=[rows])


def flips(content: bytes, number: int):
    """The content with one bit changed, at places all over it: the header, and what follows."""
    end = 8 + struct.unpack("<Q", content[:8])[0]
    rng = np.random.default_rng(0)
    places = {*range(12), *rng.integers(0, end, number // 2).tolist()}
    places |= set(rng.integers(end, len(content), number // 2).tolist())
    for place in sorted(places):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        yield place, bytes(changed)


def unnoticed(path: Path, content: bytes, number: int, load) -> list[int]:
    found = []
    for place, changed in flips(content, number):
        path.write_bytes(changed)
        try:
            load(path)
        except UserError:
            continue
        found.append(place)
    return found


def test_no_bit_of_a_forecaster_can_be_changed_without_notice(saved, tmp_path):
    assert unnoticed(tmp_path / "model.lupi", saved.read_bytes(), 300, lupi.load) == []


def test_no_bit_of_a_process_can_be_changed_without_notice(lupi, tmp_path):
    path = tmp_path / "model.safetensors"
    save_process(path, lupi, NeuralODEProcessSettings())
    assert unnoticed(path, path.read_bytes(), 100, load_process) == []


def test_no_bit_of_a_checkpoint_can_be_changed_without_notice(state, tmp_path):
    path = tmp_path / "checkpoint"
    save_checkpoint(path, state, identity={"seed": 0})

    def load(path):
        return load_checkpoint(path, state, identity={"seed": 0})

    assert unnoticed(path, path.read_bytes(), 100, load) == []


def test_a_checkpoint_gives_back_what_was_saved(state, tmp_path):
    save_checkpoint(tmp_path / "checkpoint", state, identity={})
    found = load_checkpoint(tmp_path / "checkpoint", state, identity={})
    assert found is not None
    assert found.histories == state.histories
    for one, other in zip(jax.tree.leaves(found[:3]), jax.tree.leaves(state[:3]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_file_that_calls_itself_older_is_checked_all_the_same(saved, tmp_path):
    path = tmp_path / "model.lupi"
    this = rb"\"format\": %d" % FORMAT
    older = (rb"\"format\": %d" % 4).ljust(len(this))  # of the same length: the header says its own
    content = saved.read_bytes().replace(this, older)
    assert older in content
    path.write_bytes(content)
    with pytest.raises(UserError, match="its checksum is another"):
        lupi.load(path)


def test_a_file_of_this_format_without_a_checksum_is_refused(saved, tmp_path):
    header = read_arrays(saved, kind="forecaster").header
    path = tmp_path / "model.lupi"
    save_file(load_file(saved), path, metadata={"lupi": json.dumps(header)})
    with pytest.raises(UserError, match="its checksum is another"):
        lupi.load(path)


def test_a_file_of_an_earlier_version_is_shown_with_one_line_of_notice(capsys):
    main(["show", str(OLD)])
    error = capsys.readouterr().err
    assert error.startswith(f"lupi: {OLD} was saved by an earlier version of lupi")
    assert error.count("\n") == 1


# Files that were made to do harm: their checksum is right


def units(header) -> dict:
    return header["normalisation"]


HEADERS = {
    "a scale of 0": lambda h: units(h).update(observed_scale=[0.0, 1.0]),
    "a negative scale": lambda h: units(h).update(time_scale=-1.0),
    "a scale beyond all numbers": lambda h: units(h).update(privileged_scale=[10**400]),
    "units of another number of columns": lambda h: units(h).update(observed_mean=[0.0]),
    "another number of columns": lambda h: h["columns"].update(observed=["x"]),
    "settings of another model": lambda h: h["settings"]["process"].update(hidden_size=64),
    "versions that are a list": lambda h: h.update(versions=["0.1.0"]),
    "a provenance that is a text": lambda h: h.update(provenance="from far away"),
    "a provenance without its data": lambda h: h["provenance"].pop("data"),
    "a provenance of other types": lambda h: h["provenance"].update(epochs="many"),
    "levels without end": lambda h: h["provenance"].update(note=nested(100)),
    "weights that are not a whole": lambda h: h.update(parts={"lupi": 0.2}),
}


def nested(levels: int):
    return [nested(levels - 1)] if levels else 0


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_that_makes_no_sense_is_refused_by_load_and_show(saved, tmp_path, capsys, kind):
    header, arrays = read_arrays(saved, kind="forecaster")
    HEADERS[kind](header)
    path = tmp_path / "model.lupi"
    write_arrays(path, arrays, header, kind="forecaster")
    with pytest.raises(UserError, match="the header of"):
        lupi.load(path)
    with pytest.raises(SystemExit) as stop:
        main(["show", str(path)])
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


ARRAYS = {
    "not finite": (lambda a: np.full_like(a, np.nan), "not finite"),
    "of another type": (lambda a: a.astype(np.float64), "expected float32 at .*, found float64"),
    "of another length": (lambda a: a[:-1], "damaged: expected"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_weights_that_are_none_of_this_model_are_refused(saved, tmp_path, kind):
    header, arrays = read_arrays(saved, kind="forecaster")
    change, message = ARRAYS[kind]
    name = sorted(arrays)[0]
    write_arrays(
        tmp_path / "model.lupi", arrays | {name: change(arrays[name])}, header, kind="forecaster"
    )
    with pytest.raises(UserError, match=message):
        lupi.load(tmp_path / "model.lupi")


def test_a_family_of_another_z_is_refused(tmp_path):
    header, arrays = read_arrays(BUILT_IN_MODELS / "stiffness-lupi.lupi", kind="forecaster")
    centre, axes, other, back = (
        name
        for part in ("centre", "active_axes", "other_axes", "to_active")
        for name in arrays
        if name.endswith(f"family.{part}")
    )
    for name in (centre, axes, other):
        arrays[name] = arrays[name][:-1]
    arrays[back] = arrays[back][:, :-1]
    write_arrays(tmp_path / "other.lupi", arrays, header, kind="forecaster")
    with pytest.raises(UserError, match="expected a z of 16 numbers, found 15"):
        lupi.load(tmp_path / "other.lupi")


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_checkpoint_of_other_numbers_is_refused(state, tmp_path, kind):
    path = tmp_path / "checkpoint"
    save_checkpoint(path, state, identity={})
    header, arrays = read_arrays(path, kind="checkpoint")
    arrays["0000"] = ARRAYS[kind][0](arrays["0000"])
    write_arrays(path, arrays, header, kind="checkpoint")
    with pytest.raises(UserError, match="is damaged"):
        load_checkpoint(path, state, identity={})


def test_a_checkpoint_whose_history_is_not_finite_is_refused(state, tmp_path):
    """It would be the best epoch, and the forecaster could not be saved in the end."""
    path = tmp_path / "checkpoint"
    save_checkpoint(path, state, identity={})
    header, arrays = read_arrays(path, kind="checkpoint")
    losses = np.array(arrays["history.validation_loss"])
    losses[0, -1] = -np.inf
    write_arrays(path, arrays | {"history.validation_loss": losses}, header, kind="checkpoint")
    with pytest.raises(UserError, match="is damaged"):
        load_checkpoint(path, state, identity={})


def test_a_giant_header_is_refused_at_once(tmp_path):
    path, length = tmp_path / "model.lupi", 2 * LONGEST_HEADER
    text = '{"__metadata__":{"lupi":"' + "x" * (length - 27) + '"}}'
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode())
    started = time.monotonic()
    with pytest.raises(UserError, match="expected at most"):
        lupi.load(path)
    assert time.monotonic() - started < 1.0


def test_show_prints_no_terminal_escapes_from_a_file(saved, tmp_path, capsys):
    header, arrays = read_arrays(saved, kind="forecaster")
    header["columns"]["units"] = {"x": "\x1b]0;owned\x07\x1b[31m"}
    header["provenance"]["python"] = "3\x9b2J"
    path = tmp_path / "model.lupi"
    write_arrays(path, arrays, header, kind="forecaster")
    main(["show", str(path)])
    main(["show", str(path), "--json"])
    shown = capsys.readouterr().out
    assert "owned" in shown
    assert not set("\x1b\x07\x9b") & set(shown)


def test_printable_text_stays_as_it_is():
    assert printable("naïve 漢字 µ\tm²\n") == "naïve 漢字 µ\tm²\n"
    assert printable("\x1b[2J") == "\\x1b[2J"


def test_show_of_very_many_entries_does_a_little_for_each(saved, tmp_path, capsys):
    header, arrays = read_arrays(saved, kind="forecaster")
    path, counts = tmp_path / "model.lupi", []
    for number in (1_000, 3_000):
        header["versions"] = {f"k{i}": "1" for i in range(number)}
        write_arrays(path, arrays, header, kind="forecaster")
        with cProfile.Profile() as calls:
            main(["show", str(path)])
        assert f"  k{number - 1}: 1\n" in capsys.readouterr().out
        counts.append(sum(entry.callcount for entry in calls.getstats()))
    # Most of them by the tests' checks of types; a hundred thousand entries once took 28 s.
    assert (counts[1] - counts[0]) / 2_000 < 300
