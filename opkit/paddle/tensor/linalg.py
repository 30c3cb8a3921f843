"""Matrix products and norms."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import axis_of, need_value, needed
from opkit.shim.missing import guard as _guard

__all__ = ["bmm", "dist", "dot", "matmul", "mm", "mv", "norm", "outer"]


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
