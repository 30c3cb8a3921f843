"""Witness: the shapes that a file's own calls give a PyLayer, as far as they stand there in numbers.

Reads syntax trees only; nothing is executed. What words say is read in said.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from opkit.checker.search.shapes import Shape

#: Functions that make an array of the shape given, those that are given numbers one by one, and those that pass it on.
_MAKERS = frozenset(
    ("ones", "zeros", "empty", "full", "random", "random_sample", "standard_normal", "normal", "uniform", "gaussian")
)
_SPREAD = frozenset(("randn", "rand"))
_CARRIERS = frozenset(
    ("to_tensor", "asarray", "array", "astype", "cast", "clone", "detach", "abs", "exp", "Parameter", "assign", "copy")
)

#: Beyond the last line of any file.
_LAST = 1 << 30


def called_shapes(layer: type, names: Sequence[str]) -> list[tuple[Shape, ...]]:
    """Return the shapes that calls of ``apply`` in a PyLayer's own file give its inputs.

    Args:
        layer: the class.
        names: of the inputs, among forward's parameters.

    Returns:
        one entry for each call whose shapes are all known.
    """
    try:
        parameters = list(inspect.signature(layer.forward).parameters)[1:]  # type: ignore[attr-defined]
        path = inspect.getsourcefile(layer) or ""
        tree = _tree_of(path, os.stat(path).st_mtime_ns)
    except (TypeError, ValueError, OSError):
        return []
    found: list[tuple[Shape, ...]] = []
    for call, scope in _calls(tree, layer.__name__):
        given: dict[str, ast.expr] = dict(zip(parameters, call.args))
        given.update((item.arg, item.value) for item in call.keywords if item.arg)
        shapes = [scope.shape(given[name]) if name in given else None for name in names]
        known = tuple(shape for shape in shapes if shape is not None)
        if shapes and len(known) == len(shapes):
            found.append(known)
    return found


@dataclass(slots=True)
class _Scope:
    """What names stand for where a call stands.

    Args:
        values: the last value given to each name.
        makers: functions of the file that take sizes one by one.
    """

    values: Mapping[str, ast.expr]
    makers: frozenset[str]
    _known: dict[str, Shape | None] = field(default_factory=dict)

    def shape(self, node: ast.expr) -> Shape | None:
        """Return the shape of what an expression makes, None where it does not say."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.BinOp):
            sides = [self.shape(side) for side in (node.left, node.right) if not isinstance(side, ast.Constant)]
            return sides[0] if len(set(sides)) == 1 else None
        if isinstance(node, (ast.List, ast.Tuple)):
            inner = {() if isinstance(item, (ast.Constant, ast.UnaryOp)) else self.shape(item) for item in node.elts}
            one = inner.pop() if len(inner) == 1 else None
            return None if one is None else (len(node.elts), *one)
        return self._called(node) if isinstance(node, ast.Call) else None

    def _named(self, name: str) -> Shape | None:
        if name not in self._known:
            self._known[name] = None  # while it is looked for: a name may stand for itself
            self._known[name] = self.shape(self.values[name]) if name in self.values else None
        return self._known[name]

    def _called(self, node: ast.Call) -> Shape | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in self.makers or name in _SPREAD:
            sizes = [self._size(item) for item in node.args]
            if sizes and all(size is not None for size in sizes):
                return tuple(size for size in sizes if size is not None)
        if name in _MAKERS | _SPREAD:
            asked = [item.value for item in node.keywords if item.arg in ("size", "shape")]
            for item in (*asked, *node.args):
                shape = self._sizes(item)
                if shape is not None:
                    return shape
            return None
        if name in _CARRIERS:
            asked = node.args[:1]
            if isinstance(function, ast.Attribute) and name in (
                "astype",
                "cast",
                "clone",
                "detach",
                "copy",
                "exp",
                "abs",
            ):
                asked = [function.value, *asked]
            return next((shape for shape in map(self.shape, asked) if shape is not None), None)
        return None

    def _sizes(self, node: ast.expr) -> Shape | None:
        node = self.values.get(node.id, node) if isinstance(node, ast.Name) else node
        items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else ()
        sizes = [self._size(item) for item in items]
        return None if not sizes or None in sizes else tuple(size for size in sizes if size is not None)

    def _size(self, node: ast.expr) -> int | None:
        node = self.values.get(node.id, node) if isinstance(node, ast.Name) else node
        value = node.value if isinstance(node, ast.Constant) else None
        return value if type(value) is int else None


@lru_cache(maxsize=16)
def _tree_of(path: str, changed: int) -> ast.Module:
    """Return a file's syntax tree, parsed once for each time that the file was changed."""
    try:
        with open(path, encoding="utf-8") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # a file that is gone, or changed since
        return ast.Module([], [])


def _calls(tree: ast.Module, name: str) -> Iterator[tuple[ast.Call, _Scope]]:
    """Yield the calls of a PyLayer's ``apply``, also under another name, with what names stand for there."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    makers = frozenset(one.name for one in functions if one.args.vararg is not None and not one.args.args)
    inside = {id(node) for one in functions for node in ast.walk(one) if node is not one}
    outer = [node for node in ast.walk(tree) if id(node) not in inside]
    last = _values(_assigned(outer), _LAST)
    aliases = {alias for alias, value in last.items() if _is_apply(value, name)}
    for place in (outer, *(list(ast.walk(one)) for one in functions)):
        assigned = _assigned(place)
        around = {} if place is outer else last
        for node in place:
            if isinstance(node, ast.Call) and _is_apply(node.func, name, aliases):
                yield node, _Scope({**around, **_values(assigned, node.lineno)}, makers)


def _assigned(nodes: Iterable[ast.AST]) -> list[ast.Assign]:
    """Return the assignments, from the first line to the last."""
    return sorted((one for one in nodes if isinstance(one, ast.Assign)), key=lambda one: one.lineno)


def _is_apply(node: Any, name: str, aliases: set[str] | frozenset[str] = frozenset()) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    return isinstance(node, ast.Attribute) and node.attr == "apply" and getattr(node.value, "id", "") == name


def _values(assigned: Sequence[ast.Assign], before: int) -> dict[str, ast.expr]:
    """Return the last value that each name is given before a line."""
    found: dict[str, ast.expr] = {}
    for node in assigned:
        if node.lineno > before:
            break
        for target in node.targets:
            if isinstance(target, ast.Name):
                found[target.id] = node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts)
                found.update((one.id, value) for one, value in pairs if isinstance(one, ast.Name))
    return found
