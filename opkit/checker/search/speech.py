"""Speech: what the source of an op says about shapes, in words or by what its functions do with them.

Reads source and code objects only; nothing is executed, and what has no source says nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opkit.checker.model.reached import code_of, names_in
from opkit.checker.model.thresholds import MOST_DIVISOR
from opkit.checker.model.written import text_of, tree_in

#: Words for shapes that need not be equal, and for arrays of any number of axes.
_WORDS = re.compile(
    r"broadcast|sum_to|reduce_to|(?:sum|reduce)_like|\bany (?:rank|shape|number)|\barbitrary|\bn-?d (?:array|tensor)",
    re.IGNORECASE,
)
#: Functions that split an array into parts; a whole number is how many.
_SPLITS = frozenset(("chunk", "split", "tensor_split", "array_split", "hsplit", "vsplit"))
#: What a function reads of an array that asks for its axes, and what goes through them one by one.
_AXES, _LOOPS = frozenset(("shape", "ndim", "dim")), frozenset(("enumerate", "zip"))


@dataclass(frozen=True, slots=True)
class Speech:
    """What source says about shapes.

    Args:
        broadcasts: it speaks of broadcasting or of any number of axes, or some function sums by the shapes it is given.
        ranks: forward raises by the number of axes that an input has: it takes what it means to take.
        divisors: whole numbers above 1 by which forward divides, rounding down, and into how many parts it splits.
    """

    broadcasts: bool = False
    ranks: bool = False
    divisors: frozenset[int] = frozenset()


def speech_of(sources: Sequence[Any]) -> Speech:
    """Return what forward, backward and what stands around them say.

    Args:
        sources: forward, backward, then their class and its other functions; nothing where none is known.
    """
    if len(sources) < 2:
        return Speech()
    forward, backward, *others = sources
    helpers = [*filter(code_of, others), *_named_by(backward)]
    texts = [text_of(item) for item in (forward, backward, *helpers)]
    texts += [item.__doc__ or "" for item in others if isinstance(item, type)]
    sums = any(_sums_by_shape(_names_in(item)) for item in helpers) or _sums_by_shape(_names_in(backward), _LOOPS)
    tree = tree_in(texts[0])
    return Speech(sums or any(map(_WORDS.search, texts)), _refuses_ranks(tree), frozenset(_divisors(tree)))


def _names_in(function: Any) -> frozenset[str]:
    """Return the names that a function reads, with those of the functions within it."""
    code = code_of(function)
    return frozenset() if code is None else frozenset(names_in(code))


def _named_by(function: Any) -> list[Any]:
    """Return the functions of its own module that a function names."""
    scope = getattr(getattr(function, "__func__", function), "__globals__", {})
    found = [scope.get(name) for name in sorted(_names_in(function))]
    home = scope.get("__name__")
    return [item for item in found if code_of(item) and getattr(item, "__module__", None) == home]


def _sums_by_shape(names: frozenset[str], needed: frozenset[str] = _AXES) -> bool:
    return "sum" in names and bool(names & _AXES) and bool(names & needed)


def _divisors(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        given: Sequence[ast.expr] = ()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            given = (node.right,)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SPLITS:
            given = [*node.args[:2], *(item.value for item in node.keywords if item.arg != "axis")]
        for item in given:
            value = item.value if isinstance(item, ast.Constant) else None
            if type(value) is int and 1 < value <= MOST_DIVISOR:
                yield value


def _refuses_ranks(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and any(isinstance(item, ast.Raise) for item in node.body):
            tests: ast.expr = node.test
        elif isinstance(node, ast.Assert):
            tests = node.test
        else:
            continue
        if any(map(_counts_axes, ast.walk(tests))):
            return True
    return False


def _counts_axes(node: ast.AST) -> bool:
    """Say whether an expression is ``x.ndim``, ``x.dim()`` or ``len(x.shape)``."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("ndim", "dim")
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args):
        return False
    return isinstance(node.args[0], ast.Attribute) and node.args[0].attr == "shape"
