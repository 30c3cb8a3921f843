"""``opkit gradcheck`` without flags, which no parser reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opkit.cli import application, checking


def test_a_check_without_flags_has_the_settings_of_the_flags_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration counts both ways; targets, options, form, reports and the exit status are the same."""
    seen: list[Any] = []

    def check(*given: Any, **named: Any) -> int:
        seen.append((given, {"is_verbose": False, **named}))
        return 5

    monkeypatch.setattr(checking, "check", check)
    monkeypatch.chdir(tmp_path)
    Path("ops").mkdir()
    for text in ("", '[tool.opkit]\neffort = 0.5\nignore = ["GC160"]\nreports = ["json=a.json"]\npaths = ["ops"]\n'):
        Path("pyproject.toml").write_text(text)
        for words in ([], ["a", "b.py::C"]):
            with pytest.raises(SystemExit) as plain:
                checking.check_plainly(words, None)
            with pytest.raises(SystemExit) as parsed:
                application(["gradcheck", "sbp"])(["gradcheck", *words])
            assert plain.value.code == parsed.value.code == 5
            assert seen[-2] == seen[-1]
