"""The tables of what the frameworks have."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import opkit.oneflow
import opkit.paddle
from opkit.shim import known
from opkit.shim.known import OPTIONAL, Known, Table, instead_of, table_of
from opkit.shim.placeholder import MissingModule, MissingName

TEXT = "# a comment\nacme Net core=acme.base.core\nacme.base.core !Stop Net=acme.Net\nacme.data\n"


def test_a_line_is_read() -> None:
    """Names, the shortest path of the same object, exceptions, submodules that the parent does not list."""
    table = Table("Acme 1.0", TEXT)
    assert table.find("acme", "Net") == Known("acme.Net", "acme.Net")
    assert table.find("acme.base.core", "Net") == Known("acme.base.core.Net", "acme.Net")
    assert table.find("acme.base.core", "Stop") == Known("acme.base.core.Stop", "acme.base.core.Stop", True)
    assert table.find("acme", "data") == Known("acme.data", "acme.data")
    assert table.find("acme", "net") is None
    assert table.is_module("acme.data")
    assert table.names("acme.data") == []
    assert not table.is_module("acme.Net")


def test_advice_is_that_of_the_longest_part() -> None:
    """A name below a listed path has its advice, another has none."""
    assert "numpy.fft" in instead_of("paddle.fft.fft2")
    assert instead_of("paddle.fftx") == ""


def test_advice_names_what_opkit_has() -> None:
    """Every paddle name in a piece of advice, and in the reason of an optional module, is in opkit."""
    texts = [*known._INSTEAD.values(), *OPTIONAL.values()]
    named = {path for text in texts for path in re.findall(r"paddle(?:\.\w+)+", text)}
    assert "paddle.io.DataLoader" in named
    for path in named:
        value = opkit.paddle
        for part in path.split(".")[1:]:
            value = getattr(value, part)
        assert not isinstance(value, MissingName | MissingModule), path


def test_optional_modules_are_the_frameworks() -> None:
    """A path that counts as not installed is one that the framework has; it has a reason."""
    for path, reason in OPTIONAL.items():
        table = table_of(path.partition(".")[0])
        module, _, name = path.rpartition(".")
        assert table is not None
        assert table.find(module, name) is not None, path
        assert len(reason) > 20, path


def _modules(package: ModuleType) -> list[str]:
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [package.__name__, *(info.name for info in found)]


@pytest.mark.parametrize("package", [opkit.paddle, opkit.oneflow], ids=["paddle", "oneflow"])
def test_shared_modules_are_guarded(package: ModuleType) -> None:
    """A module at a path that the framework has too finds the framework's other names."""
    table = table_of(package.__name__.partition(".")[2])
    assert table is not None
    shared = [name for name in _modules(package) if table.is_module(name.removeprefix("opkit."))]
    assert shared
    without = [name for name in shared if not hasattr(importlib.import_module(name), "__getattr__")]
    assert without == []


@pytest.mark.peer
def test_the_table_is_that_of_the_installed_paddle(tmp_path: Path) -> None:
    """Writing it again with paddlepaddle 2.6.2 gives the same text."""
    python = os.environ.get("OPKIT_PADDLE_PYTHON")
    if not python:
        pytest.skip("OPKIT_PADDLE_PYTHON names no interpreter with paddlepaddle 2.6.2")
    root = Path(__file__).parents[2]
    words = [python, str(root / "benchmarks/paddle_names.py")]
    written = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout  # some leave logs
    assert written == (root / "opkit/shim/known/paddle.txt").read_text(encoding="utf-8")
