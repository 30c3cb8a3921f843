"""Proofs of sharding signatures are kept by the content of the op directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.project import proofs
from opkit.project.proofs import proved, remember_proofs

HELD = [("op_forward", "2", "S(0) -> S(0)")]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "op"
    folder.mkdir()
    (folder / "op_py_kernel.py").write_text("def forward(args):\n    return args[0]\n")
    (folder / "op_cpp_def.cpp").write_text("// nothing\n")
    return folder


def test_nothing_is_known_before_a_proof(directory: Path) -> None:
    """None says that it was never tried, an empty set that nothing holds."""
    assert proved(directory) is None
    remember_proofs(directory, [])
    assert proved(directory) == frozenset()


def test_a_proof_is_of_this_content(directory: Path) -> None:
    """A copy elsewhere has it too; a changed source has not; a test beside it does not matter."""
    remember_proofs(directory, HELD)
    assert proved(directory) == frozenset(HELD)
    (directory / "test_op.py").write_text("")
    assert proved(directory) == frozenset(HELD)
    (directory / "op_py_kernel.py").write_text("def forward(args):\n    return -args[0]\n")
    assert proved(directory) is None


@pytest.mark.parametrize("text", ["", "[]", '{"format": 9, "held": []}', '{"format": 1, "held": [["a"]]}', "{"])
def test_a_damaged_file_proves_nothing(text: str, directory: Path) -> None:
    """What cannot be read counts as never tried."""
    remember_proofs(directory, HELD)
    (file,) = proofs._folder().iterdir()
    file.write_text(text)
    assert proved(directory) is None
