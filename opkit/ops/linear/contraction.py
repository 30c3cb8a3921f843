"""``einsum``: products of tensors summed over named axes, built from transposes, reshapes and matrix products.

Plain matrix products are in ``opkit.ops.linear.products``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ops.arrange.shape import expand_dims, reshape, transpose
from opkit.ops.basis.arithmetic import mul
from opkit.ops.basis.broadcasting import reduce_sum
from opkit.ops.basis.creation import cast_like, literal
from opkit.ops.core.types import Ints, Values
from opkit.ops.core.value import Value, ndim_of, shape_of
from opkit.ops.linear.products import matmul
from opkit.ops.pointwise.compare import where

#: Stand for the axes of an ellipsis, the last of them "9"; letters never do.
_DOTS = "0123456789"


def einsum(equation: str, operands: Values) -> Value:
    """Return the sum of products that an equation such as ``"bij,bjk->bik"`` describes.

    Args:
        equation: one label per axis, operands separated by commas; without ``->`` the labels that occur once are the
            result's, in alphabetical order. ``...`` stands for axes that broadcast.
        operands: one tensor per term.

    Raises:
        UsageError: the equation is malformed.
        ShapeError: it does not fit the operands.
    """
    terms, result = _parsed(equation, operands)
    _check_sizes(equation, terms, operands)
    values = [_without_repeats(term, value) for term, value in zip(terms, operands)]
    labels, value = values[0]
    for k, (others, other) in enumerate(values[1:], start=2):
        kept = set(result).union(*(term for term, _ in values[k:]))
        labels, value = _pair(labels, value, others, other, kept)
    return _arranged(labels, value, result)


def _parsed(equation: str, operands: Values) -> tuple[list[str], str]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise UsageError(f"einsum: {equation!r} has {len(parts)} terms, but there are {len(operands)} operands")
    terms = [_term(equation, part, ndim_of(value)) for part, value in zip(parts, operands)]
    dots = max((sum(label in _DOTS for label in term) for term in terms), default=0)
    spread = _DOTS[len(_DOTS) - dots :]
    if arrow:
        result = right.replace("...", spread)
    else:
        joined = "".join(terms)
        result = spread + "".join(
            sorted(label for label in set(joined) if joined.count(label) == 1 and label.isalpha())
        )
    known = set().union(*terms)
    if len(set(result)) != len(result) or not set(result) <= known:
        raise UsageError(f"einsum: the result of {equation!r} repeats a label or names one that no operand has")
    return terms, result


def _term(equation: str, part: str, ndim: int) -> str:
    labels = part.replace("...", "")
    if not all(label.isalpha() for label in labels) or part.count("...") > 1:
        raise UsageError(f"einsum: {part!r} in {equation!r} is not a list of labels")
    missing = ndim - len(labels)
    if missing < 0 or (missing and "..." not in part):
        raise ShapeError(f"einsum: {part!r} in {equation!r} names {len(labels)} axes, but the operand has {ndim}")
    return part.replace("...", _DOTS[len(_DOTS) - missing :] if missing else "")


def _check_sizes(equation: str, terms: Sequence[str], operands: Values) -> None:
    sizes: dict[str, int] = {}
    for term, value in zip(terms, operands):
        for label, size in zip(term, shape_of(value)):
            held = sizes.get(label, size)
            if size not in (held, 1, -1) and held not in (1, -1):
                raise ShapeError(f"einsum: label {label!r} of {equation!r} has the sizes {held} and {size}")
            sizes[label] = size if held in (1, -1) else held


def _without_repeats(term: str, value: Value) -> tuple[str, Value]:
    """Return an operand whose repeated labels are taken on the diagonal."""
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            value = _diagonal(value, first, second)
            term = term[:second] + term[second + 1 :]
    return term, value


def _diagonal(value: Value, first: int, second: int) -> Value:
    size = shape_of(value)[first]
    if size == -1:
        raise ShapeError("einsum: a repeated label needs sizes that are known")
    mask = np.eye(size, dtype=bool).reshape([size if k in (first, second) else 1 for k in range(ndim_of(value))])
    return reduce_sum(where(literal(mask), value, 0.0 if value._data.dtype.kind == "f" else 0), second)


def _pair(first: str, x: Value, second: str, y: Value, kept: set[str]) -> tuple[str, Value]:
    """Return the product of two operands, summed over the labels that are not needed any more."""
    first, x = _summed(first, x, set(second) | kept)
    second, y = _summed(second, y, set(first) | kept)
    shared = [label for label in first if label in second]
    batch = [label for label in shared if label in kept]
    inner = [label for label in shared if label not in kept]
    rows = [label for label in first if label not in second]
    columns = [label for label in second if label not in first]
    if not inner or any(_size(first, x, label) != _size(second, y, label) for label in shared):
        return _multiplied(first, x, second, y, batch + inner + rows + columns, inner)
    if any(-1 in shape_of(item) for item in (x, y)):
        return _multiplied(first, x, second, y, batch + inner + rows + columns, inner)
    groups = ((batch, rows, inner), (batch, inner, columns))
    sizes = {label: _size(first, x, label) for label in first} | {label: _size(second, y, label) for label in second}
    left, right = (
        reshape(
            transpose(item, [labels.index(label) for group in parts for label in group]),
            [prod(sizes[label] for label in group) for group in parts],
        )
        for item, labels, parts in zip((x, y), (first, second), groups)
    )
    whole = batch + rows + columns
    return "".join(whole), reshape(matmul(left, cast_like(right, left)), [sizes[label] for label in whole])


def _size(labels: str, value: Value, label: str) -> int:
    return shape_of(value)[labels.index(label)]


def _summed(labels: str, value: Value, needed: set[str]) -> tuple[str, Value]:
    drop = [k for k, label in enumerate(labels) if label not in needed]
    if not drop:
        return labels, value
    return "".join(label for label in labels if label in needed), reduce_sum(value, drop)


def _multiplied(first: str, x: Value, second: str, y: Value, whole: list[str], inner: list[str]) -> tuple[str, Value]:
    product = mul(_spread(first, x, whole), _spread(second, y, whole))
    labels = "".join(whole)
    return _summed(labels, product, set(whole) - set(inner))


def _spread(labels: str, value: Value, whole: list[str]) -> Value:
    order = [label for label in whole if label in labels]
    value = transpose(value, [labels.index(label) for label in order]) if order else value
    missing = [k for k, label in enumerate(whole) if label not in labels]
    return expand_dims(value, missing) if missing else value


def _arranged(labels: str, value: Value, result: str) -> Value:
    labels, value = _summed(labels, value, set(result))
    order = [labels.index(label) for label in result]
    return value if order == list(range(len(order))) else transpose(value, order)


# ---- tensordot -------------------------------------------------------------------------------------------------------
def tensordot(x: Value, y: Value, axes_x: Ints, axes_y: Ints) -> Value:
    """Return the products of x and y summed over pairs of axes: the other axes of x, then those of y.

    Raises:
        ShapeError: the sizes of a pair differ.
    """
    shape_x, shape_y = shape_of(x), shape_of(y)
    axes_x = [axis % len(shape_x) for axis in axes_x]
    axes_y = [axis % len(shape_y) for axis in axes_y]
    for a, b in zip(axes_x, axes_y):
        if shape_x[a] != shape_y[b]:
            raise ShapeError(f"tensordot: axis {a} of {list(shape_x)} and axis {b} of {list(shape_y)} differ")
    rest_x = [axis for axis in range(len(shape_x)) if axis not in axes_x]
    rest_y = [axis for axis in range(len(shape_y)) if axis not in axes_y]
    inner = prod(shape_x[axis] for axis in axes_x)
    left = reshape(transpose(x, [*rest_x, *axes_x]), [prod(shape_x[axis] for axis in rest_x), inner])
    right = reshape(transpose(y, [*axes_y, *rest_y]), [inner, prod(shape_y[axis] for axis in rest_y)])
    return reshape(matmul(left, right), [*(shape_x[a] for a in rest_x), *(shape_y[a] for a in rest_y)])
