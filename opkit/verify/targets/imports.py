"""Imports: what Python files import, and which of them define custom functions and do no more, read from their texts.

Nothing is imported; a file that cannot be read or parsed names nothing, and says so when it is loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from opkit.paths import StrPath

#: What makes a function with a gradient of its own: bases of classes; decorators, and what is called as they are.
_BASES, _MAKERS = frozenset({"PyLayer", "Function"}), frozenset({"custom_vjp", "custom_jvp", "custom_op", "triton_op"})
#: The packages that have these.
_FRAMEWORKS = frozenset({"jax", "opkit", "paddle", "torch"})
#: What completes such a function where a file is imported: ``f.defvjp(...)``, ``op.register_autograd(...)``.
_COMPLETED = ("def", "register_")


def imported_roots(path: StrPath) -> frozenset[str]:
    """Return the top-level packages that a Python file imports anywhere, by absolute names."""
    return _roots(_tree(path))


def _roots(tree: ast.Module) -> frozenset[str]:
    roots: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            roots.update(item.name.partition(".")[0] for item in node.names)
        elif node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return frozenset(roots)


def imported_names(path: StrPath) -> frozenset[str]:
    """Return the names that a Python file binds by importing."""
    return frozenset(item.asname or item.name for node in _statements(_tree(path)) for item in node.names)


def replaced_at(path: StrPath, name: str) -> list[int]:
    """Return the lines of a file's classes and functions of a name, but for the last, which is what the name means."""
    return [node.lineno for node in _tree(path).body if getattr(node, "name", None) == name][:-1]


def is_relative(path: StrPath) -> bool:
    """Return whether a file imports from its own package by relative names: it cannot be run as a script."""
    return any(isinstance(node, ast.ImportFrom) and node.level for node in _statements(_tree(path)))


def gives_py_func(path: StrPath, name: str = "") -> bool:
    """Return whether a file gives a function, any or one of a name, to ``py_func``, which shows only where it runs."""
    text = _read(path)
    if b"py_func" not in text:
        return False
    calls = (node for node in ast.walk(_parsed(text)) if isinstance(node, ast.Call) and _last(node.func) == "py_func")
    return any(not name or name in map(_last, (*call.args, *(key.value for key in call.keywords))) for call in calls)


def is_check(path: StrPath) -> bool:
    """Return whether a file holds cases of functions that stand elsewhere, and no script: ``check_*.py``."""
    return Path(path).name.startswith("check_")


def is_quiet(path: StrPath) -> bool:
    """Return whether a file only defines what is in it, so that a process may import it that is not to run it."""
    return all(map(_is_quiet, _tree(path).body))


def files_of_functions(files: Iterable[Path]) -> list[Path]:
    """Return the files of a folder in which functions are to be checked.

    Check files, ``check_*.py``, and those that define custom functions and do nothing else when they are imported; what
    a check file imports is checked by it. Tests, ``test_*.py``, are pytest's.
    """
    every = list(files)
    checks = list(filter(is_check, every))
    served = {name for path in checks for name in _modules(path)}
    return [
        path
        for path in every
        if path in checks or (path.stem not in served and not path.name.startswith("test_") and _is_library(path))
    ]


def _modules(path: Path) -> Iterator[str]:
    """Yield the last parts of the names of the modules that a file may import."""
    for node in _statements(_tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.rpartition(".")[2]
        yield from (item.name.rpartition(".")[2] for item in node.names)


def _is_library(path: Path) -> bool:
    text = _read(path)
    if not any(name.encode() in text for name in _BASES | _MAKERS):  # a text is searched in no time, and parsed in some
        return False
    try:
        tree = ast.parse(text)
    except SyntaxError:  # loading it says where
        return True
    except (ValueError, RecursionError, MemoryError):
        return False
    nodes = list(ast.walk(tree))
    bases = {_last(base) for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases}
    makes = bases & _BASES or _MAKERS.intersection(map(_last, nodes))
    return bool(makes and _roots(tree) & _FRAMEWORKS) and all(map(_is_quiet, tree.body))


def _last(node: ast.AST) -> str:
    """Return the last part of a name, "" of what is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_quiet(statement: ast.stmt) -> bool:
    """Return whether a statement of a module defines something, or runs only where the module is the program."""
    if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
        return all(map(_is_quiet, statement.orelse))
    if isinstance(statement, (ast.If, ast.Try)):
        handled = (part for item in getattr(statement, "handlers", []) for part in item.body)
        parts = [*statement.body, *statement.orelse, *handled, *getattr(statement, "finalbody", [])]
        return all(map(_is_quiet, parts))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        return isinstance(called, ast.Attribute) and called.attr.startswith(_COMPLETED)
    return not isinstance(statement, (ast.For, ast.While, ast.With))


def _read(path: StrPath) -> bytes:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except (OSError, ValueError, MemoryError):
        return b""


def _parsed(text: bytes) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _tree(path: StrPath) -> ast.Module:
    return _parsed(_read(path))


def _statements(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
