"""Imports: which packages a file names in its import statements, read from its text.

Nothing is imported; a file that cannot be read or parsed names none, and says so when it is loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from opkit.paths import StrPath


def imported_roots(path: StrPath) -> frozenset[str]:
    """Return the top-level packages that a Python file imports anywhere, by absolute names."""
    roots: set[str] = set()
    for node in _statements(path):
        if isinstance(node, ast.Import):
            roots.update(item.name.partition(".")[0] for item in node.names)
        elif node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return frozenset(roots)


def imported_names(path: StrPath) -> frozenset[str]:
    """Return the names that a Python file binds by importing."""
    return frozenset(item.asname or item.name for node in _statements(path) for item in node.names)


def is_relative(path: StrPath) -> bool:
    """Return whether a file imports from its own package by relative names: it cannot be run as a script."""
    return any(isinstance(node, ast.ImportFrom) and node.level for node in _statements(path))


def _statements(path: StrPath) -> Iterator[ast.Import | ast.ImportFrom]:
    try:
        with open(path, "rb") as handle:
            tree = ast.parse(handle.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return iter(())
    return (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
