"""``opkit.atomic``: files appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opkit import atomic


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
    with pytest.raises(OSError, match="No space left"):
        atomic.write_file(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_the_data_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before it replaces the old one, and the folder afterwards."""
    steps: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (steps.append("sync"), sync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda old, new: (steps.append("replace"), replace(old, new))[1])
    atomic.write_file(tmp_path / "f", b"data")
    assert steps == ["sync", "replace", "sync"]
