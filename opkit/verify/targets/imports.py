"""Imports: which packages a file names in its import statements, read from its text.

Nothing is imported; a file that cannot be read or parsed names none, and says so when it is loaded.
"""

from __future__ import annotations

import ast
import os


def imported_roots(path: str | os.PathLike[str]) -> frozenset[str]:
    """Return the top-level packages that a Python file imports anywhere, by absolute names."""
    try:
        with open(path, "rb") as handle:
            tree = ast.parse(handle.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    roots: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots.update(item.name.partition(".")[0] for item in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return frozenset(roots)
