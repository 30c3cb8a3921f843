"""Dimensions: the shapes that annotations in a signature declare, such as ``"b n d"``: the same name, the same size.

Reads and compares only. The notation is jaxtyping's: a size, a name, ``_`` for any size, ``#n`` for n or 1, ``*batch``
or ``...`` for any number of axes, and sums, differences, products and quotients of these, such as ``n+1``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from dataclasses import field
from itertools import chain
from typing import Any

from opkit.ir import Shape
from opkit.record import record

_OPERATORS: Mapping[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
#: ``#`` (or 1) and ``*`` (any number of axes), ``name=`` (said for the reader), then what the size is.
_AXIS = re.compile(r"(?P<marks>[#*]*)(?:[A-Za-z_]\w*=)?(?P<size>[\w+\-*/()]+|\.\.\.)")


@record
class Axis:
    """One axis, or any number of them.

    Args:
        size: a name, a size, or a sum, difference, product or quotient of these; None for any.
        is_many: whether it stands for any number of axes.
        may_be_one: whether its size may be 1 instead.
    """

    size: ast.expr | None
    is_many: bool = False
    may_be_one: bool = False

    @property
    def names(self) -> list[str]:
        """The names that its size is made of."""
        return [node.id for node in ast.walk(self.size) if isinstance(node, ast.Name)] if self.size else []

    def of(self, known: Mapping[str, Any], otherwise: int) -> int:
        """Return its size where the names are known, another one where they are not."""
        if self.size is None or not known.keys() >= set(self.names):
            return otherwise
        return _value(self.size, known)


def _value(size: ast.expr, known: Mapping[str, Any]) -> int:
    if isinstance(size, ast.BinOp):
        return int(_OPERATORS[type(size.op)](_value(size.left, known), _value(size.right, known)))
    return int(size.value if isinstance(size, ast.Constant) else known[size.id])  # type: ignore[arg-type, attr-defined]


def axes_in(text: str) -> tuple[Axis, ...] | None:
    """Return the axes that a text declares, None where it is something else.

    Example:
        >>> [axis.names for axis in axes_in("n d+1") or ()]
        [['n'], ['d']]
        >>> axes_in("the weights, by row") is None
        True
    """
    found = []
    for word in text.split():
        match = _AXIS.fullmatch(word)
        said = match["size"] if match else ""
        try:
            size = None if said in ("_", "...") else ast.parse(said, mode="eval").body
        except SyntaxError:
            return None
        is_many = match is not None and ("*" in match["marks"] or said == "...")
        is_read = size is None or all(map(_is_read, ast.walk(size)))
        if match is None or not is_read or (is_many and isinstance(size, ast.BinOp)):
            return None
        found.append(Axis(size, is_many, "#" in match["marks"]))
    return tuple(found) if sum(axis.is_many for axis in found) < 2 else None


def _is_read(node: ast.AST) -> bool:
    is_size = isinstance(node, ast.Constant) and type(node.value) is int
    return is_size or isinstance(node, (ast.Name, ast.BinOp, ast.Load, *_OPERATORS))


@record
class Dimensions:
    """The axes of each input that says them.

    Args:
        axes: by input.
    """

    axes: Mapping[str, tuple[Axis, ...]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of single axes."""
        single = chain.from_iterable(axis.names for axes in self.axes.values() for axis in axes if not axis.is_many)
        return list(dict.fromkeys(single))

    def shapes(self, sizes: Mapping[str, int], many: Shape, otherwise: int) -> dict[str, Shape]:
        """Return shapes for the inputs.

        Args:
            sizes: of the names.
            many: the axes that any number of them become.
            otherwise: the size of those that may have any.
        """
        return {
            name: tuple(chain.from_iterable(many if axis.is_many else (axis.of(sizes, otherwise),) for axis in axes))
            for name, axes in self.axes.items()
        }

    def fit(self, shapes: Mapping[str, Shape]) -> bool:
        """Return whether shapes are as declared; a size of 0 is so only where it is said."""
        known: dict[str, Any] = {}
        pairs: list[tuple[Axis, int]] = []
        for name in shapes.keys() & self.axes.keys():
            aligned = _aligned(self.axes[name], shapes[name], known)
            if aligned is None:
                return False
            pairs += aligned
        for axis, size in pairs:
            if isinstance(axis.size, ast.Name) and not (axis.may_be_one and size == 1):
                known.setdefault(axis.size.id, size)
        return all(
            size == axis.of(known, size) and (size > 0 or isinstance(axis.size, ast.Constant))
            for axis, size in pairs
            if not (axis.may_be_one and size == 1)
        )


def _aligned(axes: tuple[Axis, ...], shape: Shape, known: dict[str, Any]) -> list[tuple[Axis, int]] | None:
    """Return single axes with their sizes, and note what a name of many stands for; None where the ranks differ."""
    place = next((index for index, axis in enumerate(axes) if axis.is_many), None)
    if place is None:
        return list(zip(axes, shape)) if len(axes) == len(shape) else None
    end = len(shape) - (len(axes) - place - 1)
    if end < place:
        return None
    many = axes[place]
    for name in many.names:
        if known.setdefault(f"*{name}", shape[place:end]) != shape[place:end] and not many.may_be_one:
            return None
    return [*zip(axes[:place], shape[:place]), *zip(axes[place + 1 :], shape[end:])]
