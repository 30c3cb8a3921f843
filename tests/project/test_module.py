"""Loading a user's file as a module: files of packages, and files of none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from opkit.project.module import load_module


def test_a_file_of_a_package_may_import_by_relative_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its package and the packages above are found, though the file itself is loaded by its path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    inner = tmp_path / "outer_package" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").write_text("")
    (inner / "near.py").write_text("K = 2")
    (inner.parent / "far.py").write_text("L = 3")
    (inner / "mine.py").write_text("from .near import K\nfrom ..far import L\n\nTOTAL = K + L\n")
    assert load_module(inner / "mine.py").TOTAL == 5


def test_a_relative_import_outside_of_a_package_is_an_import_error(tmp_path: Path) -> None:
    """As Python has it; nothing is added to the path."""
    (tmp_path / "near.py").write_text("K = 2")
    (tmp_path / "mine.py").write_text("from .near import K\n")
    before = list(sys.path)
    with pytest.raises(ImportError, match="relative import"):
        load_module(tmp_path / "mine.py")
    assert sys.path == before
