"""Every module of opkit can be loaded, and the examples in its docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: What runs as a script, or in the process of a framework that need not be installed.
_NEEDS_MORE = ("*_prover.py", "*/toy_device.py", "*/subjects/torch/*", "*/subjects/jax/*", "__main__.py")
MODULES = sorted(path for path in (ROOT / "opkit").rglob("*.py") if not any(path.match(pattern) for pattern in _NEEDS_MORE))
WITH_EXAMPLES = [path for path in MODULES if ">>> " in path.read_text()]


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_every_module_can_be_loaded() -> None:
    """Also what no other test needs."""
    for path in MODULES:
        importlib.import_module(_name(path))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=_name)
def test_the_examples_of_a_module_are_true(path: Path) -> None:
    """What an example is said to print, it prints."""
    outcome = doctest.testmod(importlib.import_module(_name(path)), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert outcome.attempted
    assert not outcome.failed
