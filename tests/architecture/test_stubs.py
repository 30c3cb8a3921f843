"""Stubs say to type checkers what a package's table of names says; OPKIT_UPDATE_GOLDEN=1 writes them."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from types import ModuleType

import pytest

import opkit.oneflow
import opkit.ops


def path_of(package: ModuleType, suffix: str) -> Path:
    """Return where a package's text or its stub is."""
    assert package.__file__ is not None
    return Path(package.__file__).with_suffix(suffix)


def stub(package: ModuleType) -> str:
    """Return the stub: each name imported from where it is defined, under the name that it has here."""
    root = package.__name__
    homes: dict[str, list[tuple[str, str]]] = {}
    for node in ast.parse(path_of(package, ".py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{root}."):
            homes[str(node.module)] = [(item.name, item.name) for item in node.names if item.asname is None]
    for name, home in package._HOMES.items():
        homes.setdefault(f"{root}.{home}", []).append((name, name))
    for name, known in getattr(package, "_ALIASES", {}).items():
        homes[f"{root}.{package._HOMES[known]}"].append((known, name))
    for name in getattr(package, "_MODULES", ()):
        homes.setdefault(root, []).append((name, name))
    lines = ["# Written by tests/architecture/test_stubs.py from the table in __init__.py.", "# ruff: noqa"]
    for home in sorted(homes):
        lines += [f"from {home} import {known} as {name}" for known, name in sorted(homes[home])]
    return "\n".join([*lines, "", "_HOMES: dict[str, str]", f"__all__ = {sorted(package.__all__)}", ""])


@pytest.mark.parametrize("package", [opkit.ops, opkit.oneflow], ids=["ops", "oneflow"])
def test_the_stub_names_what_the_table_names(package: ModuleType) -> None:
    """It is written from the table."""
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path_of(package, ".pyi").write_text(stub(package), encoding="utf-8")
    assert path_of(package, ".pyi").read_text(encoding="utf-8") == stub(package)
