"""Files of frameworks that are not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_framework_that_is_not_installed_is_one_line_with_its_extra(tmp_path: Path, name: str) -> None:
    """Whether a function of the file is named or the file is run."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / f"{name}.py").write_text(f"raise ModuleNotFoundError('there is no {name}', name={name!r})\n")
    (tmp_path / "mine.py").write_text(f"import {name}\n")
    path = os.pathsep.join([str(hidden), str(Path(__file__).resolve().parents[2])])
    for target, code in (("mine.py::Any", "GC195"), ("mine.py", "GC196")):
        done = subprocess.run(
            [sys.executable, "-m", "opkit", "gradcheck", target],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode != 0
        assert code in done.stdout
        assert [line.strip() for line in done.stdout.splitlines() if "pip install" in line] == [
            f"hint pip install 'opkit[{name}]' brings {name}"
        ]
