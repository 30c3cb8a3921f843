"""Ownership: which variables of a compiled function hold a value that nothing else refers to.

In an exported file shapes and numbers are immutable, and what changes one binds its variable anew: right where that
variable alone holds it. Nothing is rewritten here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from opkit.export.inference_library import LIBRARY
from opkit.spec.lower.units import Unit
from opkit.spec.parse.syntax import Function

_COPIES = {"Cell", "Shape", "shape_of", *LIBRARY} - {"at"}


def own_variables(body: Iterable[ast.stmt], units: Mapping[str, Unit]) -> set[str]:
    """Return the variables that are only given new values, and to which no other variable refers.

    Args:
        body: the statements of the function.
        units: the functions of the definition file.
    """
    found = [node for item in body for node in ast.walk(item) if isinstance(node, ast.Assign)]
    named = {
        (target.id, _is_new(node.value, units))
        for node in found
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    shared = {name for name, is_new in named if not is_new}.union(*(_referred(node.value) for node in found))
    return {name for name, _ in named} - shared


def _is_new(value: ast.expr, units: Mapping[str, Unit]) -> bool:
    """Return whether an expression makes a value, rather than referring to one that has a name."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return False
    made_by = units[value.func.id].node if value.func.id in units else None
    if isinstance(made_by, Function):
        return not (made_by.result.stars or made_by.result.ref)
    return value.func.id in _COPIES


def _referred(value: ast.expr) -> set[str]:
    """Return the variables that what is assigned an expression would refer to."""
    if isinstance(value, ast.IfExp):
        return _referred(value.body) | _referred(value.orelse)
    return {value.id} if isinstance(value, ast.Name) else set()
