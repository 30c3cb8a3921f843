"""``opkit/ops/__init__.pyi`` says to type checkers what the package's table says; OPKIT_UPDATE_GOLDEN=1 writes it."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import opkit.ops

_STUB = Path(opkit.ops.__file__).with_suffix(".pyi")


def stub() -> str:
    """Return the stub: each name imported from where it is defined, as itself."""
    homes: dict[str, list[str]] = {}
    for node in ast.parse(Path(opkit.ops.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("opkit.ops."):
            homes[str(node.module)] = [item.name for item in node.names]
    for name, home in opkit.ops._HOMES.items():
        homes.setdefault(f"opkit.ops.{home}", []).append(name)
    lines = ["# Written by tests/architecture/test_ops_stub.py from the table in __init__.py.", "# ruff: noqa"]
    for home in sorted(homes):
        lines += [f"from {home} import {name} as {name}" for name in sorted(homes[home])]
    names = sorted(name for every in homes.values() for name in every)
    return "\n".join([*lines, "", "_HOMES: dict[str, str]", f"__all__ = {names}", ""])


def test_the_stub_names_what_the_table_names() -> None:
    """It is written from the table."""
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        _STUB.write_text(stub(), encoding="utf-8")
    assert _STUB.read_text(encoding="utf-8") == stub()
