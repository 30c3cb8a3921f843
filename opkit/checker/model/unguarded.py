"""Unguarded: user functions with their guards taken away, to see what the guards do.

A guard is a bound next to 0, or next to 1 or -1, that keeps a logarithm or a divisor from what it cannot take, as in
``clip(p, 1e-7, 1 - 1e-7)``, ``maximum(norm, 1e-12)`` or ``where(n > 1e-8, n, 1e-8)``. Reads source and compiles it
again; what has none, or does something else than it says, keeps its guards.
"""

from __future__ import annotations
import __future__

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from opkit.checker.model.reached import names_in, reached
from opkit.checker.model.thresholds import GUARD_LARGEST
from opkit.checker.model.written import text_of, tree_in

_CLIPS = frozenset(("clip", "clip_", "clamp", "clamp_"))
_BOUNDS = frozenset(("maximum", "minimum", "fmax", "fmin", "max", "min"))
#: Bounds that go with a guard: those of shares and of cosines. Beside others a bound next to 0 is half of a range.
EDGES = (-1.0, 0.0, 1.0)
#: Whole numbers beyond it are no bounds, and may be none that a float can be.
_MOST = 1 << 53
#: Flags of a code object that say what its module imports from ``__future__``.
_FUTURE = __future__.annotations.compiler_flag
#: Guards are asked for at each kind of options.
_text_of = lru_cache(maxsize=256)(text_of)


class Unguarded:
    """Functions, each with its code without guards.

    Args:
        codes: that code, for each function that has guards.
    """

    def __init__(self, codes: Mapping[Any, CodeType]) -> None:
        self._codes = codes

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Take the guards away until the context ends: the functions themselves are changed."""
        kept = {function: function.__code__ for function in self._codes}
        try:
            for function, code in self._codes.items():
                function.__code__ = code
            yield
        finally:
            for function, code in kept.items():
                function.__code__ = code


def unguarded(sources: Sequence[Any], options: Mapping[str, Any]) -> Unguarded | None:
    """Return what takes the guards away, None where nothing has any.

    Args:
        sources: user functions, and classes whose attributes they may read.
        options: values of attributes and parameters by name.
    """
    named = {name: value for item in sources if isinstance(item, type) for name, value in vars(item).items()}
    codes: dict[Any, CodeType] = {}
    for function in filter(inspect.isfunction, reached(sources)):
        code = _without(function, {**named, **options})
        if code is not None:
            codes[function] = code
    return Unguarded(codes) if codes else None


def _without(function: Any, named: Mapping[str, Any]) -> CodeType | None:
    """Return a function's code without guards, None where it has none or its source cannot stand for it."""
    code = function.__code__
    tree = tree_in(_text_of(code))
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == code.co_name), None)
    if found is None:
        return None
    taken = _Taken(_values(function, found, named), function.__globals__)
    found.body = [taken.visit(node) for node in found.body]
    if not taken.count:
        return None
    found.decorator_list = []
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    return _compiled(code, found)


def _compiled(code: CodeType, node: ast.FunctionDef) -> CodeType | None:
    """Compile a changed definition to code that may stand in the place of the given one, None where it may not."""
    cells: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in code.co_freevars]
    outer = ast.parse("def outer():\n    pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    reads: list[ast.stmt] = [ast.Expr(ast.Name(name, ast.Load())) for name in code.co_freevars]
    node.body = [*reads, *node.body]  # it has to have all the cells that it had
    outer.body = [*cells, node]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    try:
        whole = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
        made = next(_codes(next(_codes(whole))))
    except (SyntaxError, ValueError, StopIteration):
        return None
    made = made.replace(co_flags=made.co_flags & ~inspect.CO_NESTED | code.co_flags & inspect.CO_NESTED)
    alike = ("co_argcount", "co_kwonlyargcount", "co_posonlyargcount", "co_flags", "co_freevars")
    return made if all(getattr(made, name) == getattr(code, name) for name in alike) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield from (value for value in code.co_consts if isinstance(value, CodeType))


def _values(function: Any, node: ast.FunctionDef, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that names have within a function, as far as they are plain to see."""
    scope = function.__globals__
    values = {name: scope[name] for name in names_in(function.__code__) & scope.keys()}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        values[name] = getattr(cell, "cell_contents", None)
    parameters = inspect.signature(function).parameters.values()
    values.update((one.name, one.default) for one in parameters if one.default is not one.empty)
    values.update(named)
    for item in ast.walk(node):
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            value = _value(item.value, values)
            if value is not None:
                values.setdefault(item.targets[0].id, value)
    return values


def _value(node: ast.expr | None, values: Mapping[str, Any]) -> float | None:
    """Return the number that an expression is, None where that is not plain to see."""
    if isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
        key = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        value = node.value if isinstance(node, ast.Constant) else values.get(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or abs(value) > _MOST:
            return None
        return float(value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, values)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, values), _value(node.right, values)
        if left is not None and right is not None and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            sign = -1 if isinstance(node.op, ast.Sub) else 1
            return left * right if isinstance(node.op, ast.Mult) else left + sign * right
    return None


def is_guard(value: float | None) -> bool:
    """Say whether a bound lies next to 0, or to 1 or -1 on the side of 0."""
    return value is not None and (0 < abs(value) <= GUARD_LARGEST or 0 < 1 - abs(value) <= GUARD_LARGEST)


class _Taken(ast.NodeTransformer):
    """Puts what is guarded in the guard's place.

    Args:
        values: of names, as far as they are known.
        scope: the function's module.
    """

    def __init__(self, values: Mapping[str, Any], scope: Mapping[str, Any]) -> None:
        self._all, self._scope = values, scope
        self.count = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return what a call guards, or the call."""
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        kept: ast.expr | None = None
        if name in _CLIPS:
            kept = self._clipped(node)
        elif name in _BOUNDS and len(node.args) == 2 and not node.keywords:
            kept = self._bounded(*node.args)
        elif name == "where" and len(node.args) == 3:
            kept = self._chosen(*node.args)
        self.count += kept is not None
        return node if kept is None else kept

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Leave out ``n[n < 1e-8] = ...``."""
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and self._compares(target.slice) is not None:
            self.count += 1
            return ast.copy_location(ast.Pass(), node)
        return node

    def _clipped(self, node: ast.Call) -> ast.expr | None:
        operands = list(node.args)
        if isinstance(node.func, ast.Attribute) and not self._is_module(node.func.value):
            operands.insert(0, node.func.value)
        bounds = [*operands[1:], *(item.value for item in node.keywords if item.arg not in (None, "x", "a", "name"))]
        held = [_value(one, self._all) for one in bounds]
        has_guard = any(map(is_guard, held))
        fits = all(value is None or value in EDGES or is_guard(value) for value in held)
        fits &= len(held) < 2 or any(value is None or abs(value) > GUARD_LARGEST for value in held)
        return operands[0] if operands and has_guard and fits else None

    def _is_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and isinstance(self._scope.get(node.id), ModuleType)

    def _bounded(self, left: ast.expr, right: ast.expr) -> ast.expr | None:
        for one, other in ((left, right), (right, left)):
            if self._holds_guard(one):
                return other
        return None

    def _chosen(self, condition: ast.expr, left: ast.expr, right: ast.expr) -> ast.expr | None:
        if self._holds_guard(left):
            return right
        if self._holds_guard(right):
            return left
        is_above = self._compares(condition)
        return None if is_above is None else left if is_above else right

    def _compares(self, node: ast.expr) -> bool | None:
        """Say whether something is asked to be above a guard (True) or below (False), None where it is not asked."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return None
        is_above = isinstance(node.ops[0], (ast.Gt, ast.GtE))
        if not is_above and not isinstance(node.ops[0], (ast.Lt, ast.LtE)):
            return None
        if is_guard(_value(node.comparators[0], self._all)):
            return is_above
        return not is_above if is_guard(_value(node.left, self._all)) else None

    def _holds_guard(self, node: ast.expr) -> bool:
        """Say whether an expression is a guard, or an array filled with one, as ``full_like(x, 1e-8)`` is."""
        if is_guard(_value(node, self._all)):
            return True
        return isinstance(node, ast.Call) and any(is_guard(one) for one in self._held(node))

    def _held(self, node: ast.Call) -> Iterable[float | None]:
        values = (*node.args, *(item.value for item in node.keywords))
        return (_value(one, self._all) for one in values)
