"""The names in a Python file that a check can be asked for: PyLayers, torch's Functions and library ops, JAX's rules.

The file is read as text; nothing of it is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from opkit.paths import StrPath

#: What a class inherits from, or a function is decorated with, by the last part of its name.
_MARKS = frozenset({"PyLayer", "Function", "custom_op", "custom_vjp", "custom_jvp"})


def _body(file: StrPath) -> list[ast.stmt]:
    try:
        with open(file, "rb") as handle:
            return ast.parse(handle.read()).body
    except (OSError, SyntaxError, ValueError):
        return []


def names_of(file: StrPath) -> Iterator[str]:
    """Yield the names that a file and its classes define, such as ``Outer.Inner``; none where it cannot be read."""
    yield from _names_in(_body(file), "")


def _names_in(body: list[ast.stmt], outer: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found = node.bases if isinstance(node, ast.ClassDef) else node.decorator_list
            marks = found if isinstance(node, ast.ClassDef) else (part for item in found for part in ast.walk(item))
            if any(getattr(mark, "attr", getattr(mark, "id", "")) in _MARKS for mark in marks):
                yield outer + node.name
        if isinstance(node, ast.ClassDef):
            yield from _names_in(node.body, f"{outer}{node.name}.")


def exported_of(file: StrPath) -> list[str]:
    """Return the names of a file's ``__all__``, but for its functions of cases; none where it has no such list."""
    for node in _body(file):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            found = ast.literal_eval(node.value)
            return [name for name in found if not name.startswith("cases")]
    return []


def has_cases(file: StrPath) -> bool:
    """Return whether a file defines or imports a function of cases, ``cases`` or ``cases_NAME``."""
    nodes = _body(file)
    made = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    taken = [item.asname or item.name for node in nodes if isinstance(node, ast.ImportFrom) for item in node.names]
    return any(f"{name}_".startswith("cases_") for name in made + taken)
