"""Products of tensors beyond the matrix product: Kronecker's, the vector product, powers, chains, distances of rows."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.ops import following as ops
from opkit.ops.core.value import Value


def add_product(addend: Value, x: Value, y: Value, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """Return ``beta * addend + alpha * x @ y``; the addend broadcasts."""
    product = ops.matmul(x, y)
    scaled = product if alpha == 1 else ops.mul(product, float(alpha))
    return ops.add(addend if beta == 1 else ops.mul(addend, float(beta)), scaled)


def kron(x: Value, y: Value) -> Value:
    """Return the Kronecker product: every element of ``x`` times the whole of ``y``."""
    count = max(len(x.shape), len(y.shape))
    left = [1] * (count - len(x.shape)) + list(x.shape)
    right = [1] * (count - len(y.shape)) + list(y.shape)
    wide = [size for pair in zip(left, [1] * count) for size in pair]
    fine = [size for pair in zip([1] * count, right) for size in pair]
    product = ops.mul(ops.reshape(x, wide), ops.reshape(y, fine))
    return ops.reshape(product, [a * b for a, b in zip(left, right)])


def cross(x: Value, y: Value, axis: int) -> Value:
    """Return the vector products along an axis of size 3.

    Raises:
        ShapeError: the axis has another size.
    """
    if x.shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} of {list(x.shape)} does not have size 3")
    next_x, next_y = ops.roll(x, -1, axis), ops.roll(y, -1, axis)
    return ops.sub(ops.mul(next_x, ops.roll(y, 1, axis)), ops.mul(ops.roll(x, 1, axis), next_y))


def matrix_power(x: Value, n: int) -> Value:
    """Return the n-th power of square matrices; a negative one is that of the inverse."""
    shape = tuple(x.shape)
    if n == 0:
        return ops.broadcast_like(ops.eye(shape[-1], dtype=x._data.dtype.name), x, tuple(range(len(shape) - 2)))
    base, power = (ops.inverse(x), -n) if n < 0 else (x, n)
    result: Any = None
    while power:
        if power % 2:
            result = base if result is None else ops.matmul(result, base)
        power //= 2
        base = ops.matmul(base, base) if power else base
    return result


def row_distances(x: Value, y: Value, p: float) -> Value:
    """Return the p-norm of the difference of each row of ``x`` and each of ``y``; of order 0 how many differ."""
    gaps = ops.sub(ops.expand_dims(x, -2), ops.expand_dims(y, -3))
    return ops.norm(gaps, float(p), -1) if p else ops.reduce_sum(ops.sign(ops.abs(gaps)), -1)
