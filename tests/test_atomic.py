"""``opkit.atomic``: files appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from opkit import atomic
from opkit.scratch import scratch_file, scratch_folder


def test_a_file_gets_the_data_and_the_usual_permissions(tmp_path: Path) -> None:
    """Folders on the way are made; the file is as readable as one that ``open`` makes."""
    atomic.write_file(tmp_path / "a" / "b" / "f", b"data")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "a" / "b" / "f").read_bytes() == b"data"
    assert (tmp_path / "a" / "b" / "f").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Whatever step fails, the old file is whole and no scratch file stays behind."""
    (tmp_path / "f").write_bytes(b"old")

    def failing(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, failing)
    with pytest.raises(OSError, match="No space left") as raised:
        atomic.write_file(tmp_path / "f", b"new")
    assert raised.value.filename == str(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize(("step", "named"), [("fsync", "f"), ("chmod", "")])
def test_a_failed_save_of_several_names_what_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, named: str
) -> None:
    """The file, or the folder that they belong to; nothing is changed."""

    def failing(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, failing)
    with pytest.raises(OSError, match="No space left") as raised:
        atomic.write_together(tmp_path, "save", {"f": b"new", "g": b"new"})
    assert raised.value.filename == str(tmp_path / named)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the scratch file, which nobody has asked for."""

    def refused(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / ".opkit-abcdefgh"))

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(PermissionError) as raised:
        atomic.write_file(tmp_path / "f", b"new")
    assert raised.value.filename == str(tmp_path / "f")


def test_the_data_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before it replaces the old one, and the folder afterwards."""
    steps: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (steps.append("sync"), sync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda old, new: (steps.append("replace"), replace(old, new))[1])
    atomic.write_file(tmp_path / "f", b"data")
    assert steps == ["sync", "replace", "sync"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    """A symlink stays one, and the file that it points to gets the data."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    atomic.write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """What is neither file nor folder is not replaced by a file."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        atomic.write_file(tmp_path / "pipe", b"data")
        assert os.read(reader, 10) == b"data"
    finally:
        os.close(reader)
    assert not (tmp_path / "pipe").is_file()


# ---- what dead runs leave --------------------------------------------------------------------------------------------
def test_what_a_dead_run_left_is_removed_and_what_a_live_one_holds_stays(tmp_path: Path) -> None:
    """The lock tells them apart, whatever the names are."""
    (tmp_path / ".opkit-deadfile").write_bytes(b"")
    (tmp_path / ".opkit-deaddir_").mkdir()
    (tmp_path / ".opkit-deaddir_" / "part").write_bytes(b"")
    (tmp_path / ".opkit-notes-of-mine").write_bytes(b"")
    with scratch_file(tmp_path) as held, scratch_folder(tmp_path) as folder:
        atomic.write_file(tmp_path / "f", b"data")
        names = {os.path.basename(held.path), os.path.basename(folder.path), "f", ".opkit-notes-of-mine"}
        assert set(os.listdir(tmp_path)) == names
    assert set(os.listdir(tmp_path)) == {"f", ".opkit-notes-of-mine"}


# ---- several files ---------------------------------------------------------------------------------------------------
def left_by_a_killed_run(folder: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, moved: int) -> None:
    """Save files in a run that dies when some of them are at their places."""
    replace, count = os.replace, [moved]

    def dying(old: str, new: str) -> None:
        if not count[0]:
            raise KeyboardInterrupt
        count[0] -= 1
        replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            atomic.write_together(folder, "save", files)


@pytest.mark.parametrize("moved", [0, 1])
def test_files_of_a_killed_run_are_found_and_brought_to_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """A reader finds all of them new at once; the next save moves them and says which they are."""
    atomic.write_together(tmp_path, "save", {"a": b"1", "sub/b": b"1"})
    left_by_a_killed_run(tmp_path, {"a": b"2", "sub/b": b"2"}, monkeypatch, moved)
    assert [atomic.placed(tmp_path, "save", name).read_bytes() for name in ("a", "sub/b")] == [b"2", b"2"]
    told: list[str] = []
    atomic.write_together(tmp_path, "other", {"c": b"3"}, told.extend)
    assert told == ["a", "sub/b"]
    assert [(tmp_path / name).read_bytes() for name in ("a", "sub/b", "c")] == [b"2", b"2", b"3"]
    assert sorted(os.listdir(tmp_path)) == ["a", "c", "sub"]


def test_a_save_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    """By its own check, or since a folder is in the place of a file."""

    def refusing(finished: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        atomic.write_together(tmp_path, "save", {"a": b"1"}, refusing)
    (tmp_path / "b").mkdir()
    with pytest.raises(IsADirectoryError):
        atomic.write_together(tmp_path, "save", {"a": b"1", "b": b"1"})
    assert os.listdir(tmp_path) == ["b"]


@pytest.mark.parametrize("names", [["sub/planted"], ["../planted"], ["/planted"], ["a", "sub/planted"]])
def test_a_planted_save_writes_nothing_outside(tmp_path: Path, names: list[str]) -> None:
    """A folder that came from elsewhere may hold what looks like a killed run's save, and a link out of it."""
    (tmp_path / "victim").mkdir()
    top = tmp_path / "top"
    save = top / ".x.opkit-save"
    (save / "sub").mkdir(parents=True)
    (save / "sub" / "planted").write_bytes(b"evil")
    (top / "planted").write_bytes(b"evil")
    (save / ".files").write_text("\n".join(names))
    (top / "sub").symlink_to(tmp_path / "victim")
    with contextlib.suppress(OSError):
        atomic.write_together(top, "save", {"c": b"1"})
    assert list((tmp_path / "victim").iterdir()) == []
    assert not (tmp_path / "planted").exists()
