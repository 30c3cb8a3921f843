"""Checkpoints are all or nothing, and a damaged one is an error that names the variable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opkit.oneflow.semantics import checkpoint
from opkit.oneflow.semantics.checkpoint import CheckpointError, read_checkpoint, write_checkpoint

pytestmark = pytest.mark.bounded

VALUES = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "step": np.array(7), "none": np.zeros((0, 2))}


@settings(max_examples=30, deadline=None)
@given(
    array=hnp.arrays(
        st.sampled_from(["float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_a_checkpoint_gives_back_what_was_saved(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray) -> None:
    """Any shape and dtype comes back bit for bit."""
    path = tmp_path_factory.mktemp("ckpt") / "a"
    write_checkpoint(path, {"v": array})
    back = read_checkpoint(path)["v"].numpy()
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == np.ascontiguousarray(array).tobytes()


def test_the_layout_is_oneflows(tmp_path: Path) -> None:
    """Each variable is a folder with raw data and a text description; a marker says the save was finished."""
    write_checkpoint(tmp_path / "a", VALUES)
    assert (tmp_path / "a/w/out").read_bytes() == VALUES["w"].tobytes()
    assert (tmp_path / "a/w/meta").read_text() == "shape {\n  dim: 2\n  dim: 3\n}\ndata_type: kFloat\n"
    assert (tmp_path / "a/snapshot_done").is_file()


def test_a_crash_while_saving_leaves_the_former_checkpoint_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When writing fails midway, the old values are still there and no scratch folder stays behind."""
    write_checkpoint(tmp_path / "a", {"w": np.zeros(3)})
    real = checkpoint.write_synced

    def failing(file: Path, data: bytes) -> None:
        if file.name == "out":
            raise OSError(28, "No space left on device")
        real(file, data)

    monkeypatch.setattr(checkpoint, "write_synced", failing)
    with pytest.raises(CheckpointError, match="No space left"):
        write_checkpoint(tmp_path / "a", {"w": np.ones(3)})
    assert read_checkpoint(tmp_path / "a")["w"].numpy().tolist() == [0, 0, 0]
    assert os.listdir(tmp_path) == ["a"]


def test_a_crash_between_the_last_two_steps_still_reads_the_former_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former checkpoint is found under its reserve name when the new one was not put in place."""
    write_checkpoint(tmp_path / "a", {"w": np.zeros(3)})
    real, calls = os.rename, []

    def dying(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "rename", dying)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(tmp_path / "a", {"w": np.ones(3)})
    monkeypatch.undo()
    assert read_checkpoint(tmp_path / "a")["w"].numpy().tolist() == [0, 0, 0]


def test_a_truncated_file_is_an_error_that_names_the_variable(tmp_path: Path) -> None:
    """Too few bytes are noticed when the data is read."""
    write_checkpoint(tmp_path / "a", VALUES)
    (tmp_path / "a/w/out").write_bytes(b"1234")
    with pytest.raises(CheckpointError, match=r"'w'.*4 bytes, expected 24"):
        read_checkpoint(tmp_path / "a")["w"].numpy()


def test_damaged_data_is_noticed(tmp_path: Path) -> None:
    """A flipped byte changes the checksum."""
    write_checkpoint(tmp_path / "a", VALUES)
    file = tmp_path / "a/w/out"
    file.write_bytes(b"\x01" + file.read_bytes()[1:])
    with pytest.raises(CheckpointError, match="damaged"):
        read_checkpoint(tmp_path / "a")["w"].numpy()


def test_a_foreign_folder_is_not_overwritten(tmp_path: Path) -> None:
    """A folder that is not a checkpoint is refused and stays as it is."""
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        write_checkpoint(tmp_path, VALUES)
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_a_checkpoint_of_the_same_variables_is_replaced(tmp_path: Path) -> None:
    """What opkit wrote for these variables gives way to their new values."""
    write_checkpoint(tmp_path / "a", {"w": np.zeros(2)})
    write_checkpoint(tmp_path / "a", {"w": np.ones(3)})
    assert read_checkpoint(tmp_path / "a")["w"].numpy().tolist() == [1, 1, 1]


def test_a_checkpoint_of_other_variables_is_not_replaced(tmp_path: Path) -> None:
    """The message names what differs; the old values stay. It is an AssertionError, as in OneFlow."""
    write_checkpoint(tmp_path / "a", {"w": np.zeros(2)})
    with pytest.raises(AssertionError, match=r"checkpoint of other variables \('b' differ\)"):
        write_checkpoint(tmp_path / "a", {"w": np.ones(2), "b": np.ones(1)})
    assert read_checkpoint(tmp_path / "a")["w"].numpy().tolist() == [0, 0]


def test_a_checkpoint_that_oneflow_wrote_is_not_replaced(tmp_path: Path) -> None:
    """Without opkit's own list of what was written, the folder is somebody else's."""
    write_checkpoint(tmp_path / "a", {"w": np.zeros(2)})
    (tmp_path / "a/opkit.json").unlink()
    with pytest.raises(CheckpointError, match="opkit did not write"):
        write_checkpoint(tmp_path / "a", {"w": np.ones(2)})


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\0b"])
def test_a_name_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    """Variable names become folders; one that cannot is an error, nothing is written."""
    with pytest.raises(CheckpointError, match="cannot be a folder"):
        write_checkpoint(tmp_path / "a", {name: np.zeros(1)})
    assert not (tmp_path / "a").exists()


def test_a_missing_checkpoint_is_an_error(tmp_path: Path) -> None:
    """The folder is named."""
    with pytest.raises(CheckpointError, match="no checkpoint folder"):
        read_checkpoint(tmp_path / "none")


def test_a_missing_variable_of_the_manifest_is_an_error(tmp_path: Path) -> None:
    """A checkpoint from which a folder was removed is not whole."""
    write_checkpoint(tmp_path / "a", VALUES)
    for file in (tmp_path / "a/step").iterdir():
        file.unlink()
    (tmp_path / "a/step").rmdir()
    with pytest.raises(CheckpointError, match="'step'"):
        read_checkpoint(tmp_path / "a")


def test_a_foreign_description_is_an_error(tmp_path: Path) -> None:
    """A meta file that describes nothing is refused by name."""
    write_checkpoint(tmp_path / "a", VALUES)
    (tmp_path / "a/w/meta").write_text("hello")
    with pytest.raises(CheckpointError, match="does not describe a variable"):
        read_checkpoint(tmp_path / "a")


# ---- what somebody else wrote ----------------------------------------------------------------------------------------
MANIFESTS = [
    '{"crc32": {"w": Infinity}}',
    '{"crc32": {"w": 1e999}}',
    '{"crc32": [1]}',
    "[" * 10**5,
    '{"crc32": {"w": "1"}}',
    "5",
]


@pytest.mark.parametrize("text", MANIFESTS)
def test_a_foreign_manifest_is_an_error(tmp_path: Path, text: str) -> None:
    """Whatever stands in it."""
    write_checkpoint(tmp_path / "a", VALUES)
    (tmp_path / "a/opkit.json").write_text(text)
    with pytest.raises(CheckpointError, match="is damaged"):
        read_checkpoint(tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    [
        "  dim: 1\n" * 100 + "data_type: kFloat",
        "dim: -1\ndata_type: kFloat",
        "dim: 1e9\ndata_type: kFloat",
        "dim: Infinity\ndata_type: kFloat",
        "dim: \u0663\ndata_type: kFloat",
        "data_type: kChar",
        "data_type: (2,)f4",
        "data_type: O",
        "dim: 3\ndata_type: " + "f" * 70_000,
    ],
)
def test_a_hostile_description_is_an_error(tmp_path: Path, text: str) -> None:
    """Too many axes, sizes that are none, dtypes that are objects or code."""
    write_checkpoint(tmp_path / "a", VALUES)
    (tmp_path / "a/w/meta").write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match="does not describe a variable"):
        read_checkpoint(tmp_path / "a")


def test_a_huge_shape_takes_no_memory(tmp_path: Path) -> None:
    """The size of the file is compared before anything is read or made."""
    write_checkpoint(tmp_path / "a", VALUES)
    (tmp_path / "a/w/meta").write_text("dim: 999999999999999\ndim: 999999999999999\ndata_type: kDouble")
    with pytest.raises(CheckpointError, match="24 bytes, expected"):
        read_checkpoint(tmp_path / "a")["w"].numpy()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
@pytest.mark.parametrize("place", ["opkit.json", "w/meta", "w/out"])
@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder"])
def test_something_else_in_the_place_of_a_file_is_an_error(tmp_path: Path, place: str, kind: str) -> None:
    """A pipe is not waited for, a device is not read."""
    write_checkpoint(tmp_path / "a", VALUES)
    file = tmp_path / "a" / place
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero" if kind == "device" else file)
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / "a")["w"].numpy()


def test_what_was_read_stays_one_save(tmp_path: Path) -> None:
    """A later save does not change or damage what was got before."""
    write_checkpoint(tmp_path / "a", {"w": np.zeros(3), "b": np.zeros(2)})
    held = read_checkpoint(tmp_path / "a")
    assert held["w"].numpy().tolist() == [0, 0, 0]
    write_checkpoint(tmp_path / "a", {"w": np.ones(3), "b": np.ones(2)})
    assert held["b"].numpy().tolist() == [0, 0]


def test_a_save_between_two_variables_is_noticed_without_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that looked for the manifest while the folder was being replaced does not mix two saves."""
    write_checkpoint(tmp_path / "a", {"w": np.zeros(3), "b": np.zeros(2)})
    looks: list[str] = []
    manifest, variable = checkpoint._read_manifest, checkpoint._read_variable

    def late(folder: Path) -> Any:
        looks.append("manifest")
        return {} if len(looks) == 1 else manifest(folder)

    def replaced(name: str, *others: Any) -> Any:
        found = variable(name, *others)
        if looks == ["manifest"]:
            looks.append("replaced")
            monkeypatch.setattr(checkpoint, "_read_manifest", manifest)
            write_checkpoint(tmp_path / "a", {"w": np.ones(3), "b": np.ones(2)})
            monkeypatch.setattr(checkpoint, "_read_manifest", late)
        return found

    monkeypatch.setattr(checkpoint, "_read_manifest", late)
    monkeypatch.setattr(checkpoint, "_read_variable", replaced)
    held = read_checkpoint(tmp_path / "a")
    assert [held[name].numpy().tolist() for name in ("w", "b")] == [[1, 1, 1], [1, 1]]
    assert "replaced" in looks
