"""Domain: what an op's files say of the inputs that it is meant for, as a digest that two runs can compare.

Reads the text of cases functions; nothing is imported or run, and no case is judged.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

from opkit.project.directory import op_directory_of

#: Names that declare exceptions, with or without a suffix; they say nothing of inputs.
_EXCEPTIONS = ("SURROGATE", "TOLERANCE", "ALLOW", "NONDIFFERENTIABLE_OUTPUTS", "INPLACE", "SECOND_ORDER")


def domain_of(directory: str | None, op: str) -> str:
    """Return a digest of the cases that an op has by now, "" where it has none and its domain is searched.

    Layout and comments do not count. Of a directory the whole cases file does, but for the exceptions that it declares;
    of ``FILE.py::Name`` the function ``cases_Name`` or ``cases`` alone, since the file holds the kernels too.

    Args:
        directory: the op directory, None for an op of a Python file.
        op: as reports name it.
    """
    try:
        if directory is not None:
            parts = list(_statements(op_directory_of(Path(directory)).cases))
        else:
            file, _, name = op.rpartition("::")
            parts = _named(Path(file), ("cases_" + name.rpartition(".")[2], "cases")) if file else []
    except (OSError, ValueError, SyntaxError, RecursionError):  # the op itself will be found faulty
        parts = []
    text = "\n".join(ast.dump(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16] if text else ""


def _statements(file: Path) -> Iterator[ast.stmt]:
    if file.is_file():
        for part in ast.parse(file.read_bytes()).body:
            if not any(name.startswith(_EXCEPTIONS) for name in _binds(part)):
                yield part


def _named(file: Path, names: tuple[str, ...]) -> list[ast.stmt]:
    found = {name: part for part in ast.parse(file.read_bytes()).body for name in _binds(part)}
    return [found[name] for name in names if name in found][:1]


def _binds(part: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
        return [part.name]
    targets = [part.target] if isinstance(part, ast.AnnAssign) else getattr(part, "targets", [])
    return [item.id for item in targets if isinstance(item, ast.Name)]
