"""Matrix products and norms.

Products of tensors beyond the matrix product: kron, cross, einsum and similar ones.
"""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.ops.composed import matrices
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import axis_of, ints, need_value, needed
from opkit.shim.missing import guard as _guard

__all__ = [
    "addmm",
    "bmm",
    "cdist",
    "cross",
    "dist",
    "dot",
    "einsum",
    "inner",
    "kron",
    "matmul",
    "matrix_power",
    "mm",
    "mv",
    "norm",
    "outer",
    "tensordot",
]


def matmul(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False, name: Name = None) -> Any:
    """Return the matrix product; leading axes broadcast."""
    return ops.matmul(needed(x), needed(y), transpose_x, transpose_y)


def mm(input: Any, mat2: Any, name: Name = None) -> Any:
    """Return the matrix product."""
    return matmul(input, mat2)


def bmm(x: Any, y: Any, name: Name = None) -> Any:
    """Return the products of two batches of matrices."""
    for item in (x, y):
        if need_value("bmm", "x", item).ndim != 3:
            raise ShapeError(f"bmm takes tensors of 3 axes, got {list(item.shape)}")
    if x.shape[0] != y.shape[0] and -1 not in (x.shape[0], y.shape[0]):
        raise ShapeError(f"bmm takes two batches of one size, got {list(x.shape)} and {list(y.shape)}")
    return ops.matmul(x, y)


def mv(x: Any, vec: Any, name: Name = None) -> Any:
    """Return the product of a matrix and a vector."""
    shapes = [len(need_value("mv", name, item)._data.shape) for name, item in (("x", x), ("vec", vec))]
    if shapes != [2, 1]:
        raise ShapeError(f"mv: x is a matrix and vec a vector, got {list(x._data.shape)} and {list(vec._data.shape)}")
    return matmul(x, vec)


def dot(x: Any, y: Any, name: Name = None) -> Any:
    """Return the inner product of vectors, or of the rows of two matrices."""
    needed(x)
    return ops.reduce_sum(ops.mul(x, needed(y)), -1)


def outer(x: Any, y: Any, name: Name = None) -> Any:
    """Return all products of an element of x and one of y."""
    return ops.mul(ops.reshape(x, [-1, 1]), ops.reshape(y, [1, -1]))


def norm(x: Any, p: Any = "fro", axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the p-norm of the elements, over all or some axes."""
    needed(x)
    return ops.norm(x, 2.0 if p == "fro" else float(p), axis_of(axis), keepdim)


def dist(x: Any, y: Any, p: float = 2, name: Name = None) -> Any:
    """Return the p-norm of a difference."""
    return ops.norm(ops.sub(x, y), float(p))


__getattr__ = _guard(globals())


def addmm(input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0, name: Name = None) -> Any:
    """Return ``beta * input + alpha * x @ y``; the input broadcasts."""
    for item in (input, x, y):
        if need_value("addmm", "x", item).ndim > 2 or (item is not input and item.ndim != 2):
            raise ShapeError(f"addmm takes matrices, got {list(item.shape)}")
    return matrices.add_product(input, x, y, beta, alpha)


def inner(x: Any, y: Any, name: Name = None) -> Any:
    """Return the sums of products over the last axes; of a scalar, the product."""
    if needed(x).ndim == 0 or needed(y).ndim == 0:
        return ops.mul(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"inner: the last axes of {list(x.shape)} and {list(y.shape)} differ")
    return ops.tensordot(x, y, [-1], [-1])


def kron(x: Any, y: Any, name: Name = None) -> Any:
    """Return the Kronecker product: every element of x times the whole of y."""
    return matrices.kron(needed(x), needed(y))


def cross(x: Any, y: Any, axis: int = 9, name: Name = None) -> Any:
    """Return the vector products along an axis of size 3; left out: the first one of that size."""
    shape = list(needed(x).shape)
    if list(needed(y).shape) != shape:
        raise ShapeError(f"cross: the shapes {shape} and {list(y.shape)} differ")
    if axis == 9:
        if 3 not in shape:
            raise ShapeError(f"cross: no axis of {shape} has size 3")
        axis = shape.index(3)
    return matrices.cross(x, y, axis)


def einsum(equation: str, *operands: Any) -> Any:
    """Return the sum of products that an equation such as ``"bij,bjk->bik"`` describes."""
    items = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    if not items:
        raise UsageError("einsum: there are no operands")
    return ops.einsum(equation, [need_value("einsum", "operands", item) for item in items])


def tensordot(x: Any, y: Any, axes: Any = 2, name: Name = None) -> Any:
    """Return sums of products over pairs of axes.

    Args:
        x: any shape.
        y: any shape.
        axes: how many axes, the last of x and the first of y; or the axes of both; or a list for each.
        name: ignored.
    """
    needed(x)
    needed(y)
    if isinstance(axes, int):
        if axes < 0:
            raise UsageError(f"tensordot: axes must not be negative, got {axes}")
        return ops.tensordot(x, y, range(x.ndim - axes, x.ndim), range(axes))
    pair = axes.tolist() if hasattr(axes, "tolist") else list(axes)
    if not pair or isinstance(pair[0], int):
        return ops.tensordot(x, y, ints(pair), ints(pair))
    first = ints(pair[0])
    second = ints(pair[1]) if len(pair) > 1 else first
    shared = max(len(first), len(second))
    first, second = first + second[len(first) :], second + first[len(second) :]
    return ops.tensordot(x, y, first[:shared], second[:shared])


def matrix_power(x: Any, n: int, name: Name = None) -> Any:
    """Return the n-th power of square matrices; a negative one is that of the inverse."""
    shape = list(needed(x).shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"matrix_power takes square matrices, got {shape}")
    return matrices.matrix_power(x, n)


def cdist(
    x: Any, y: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary", name: Name = None
) -> Any:
    """Return the p-norm of the difference of each row of x and each of y."""
    if needed(x).ndim < 2 or needed(y).ndim < 2:
        raise ShapeError(f"cdist takes matrices or stacks of them, got {list(x.shape)} and {list(y.shape)}")
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"cdist: the last axes of {list(x.shape)} and {list(y.shape)} differ")
    return matrices.row_distances(x, y, p)
