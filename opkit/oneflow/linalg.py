"""``flow.matmul`` and ``flow.linalg`` (v0.4)."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.user_op import as_value
from opkit.ops.core.types import Name
from opkit.ops.core.value import shape_of
from opkit.shim.missing import guard

__all__ = ["matmul"]


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, name: Name = None
) -> Any:
    """Return ``alpha * a @ b``; leading axes are batches.

    Raises:
        ShapeError: an operand has fewer than two axes.
    """
    left, right = as_value(a), as_value(b)
    if len(shape_of(left)) < 2 or len(shape_of(right)) < 2:
        raise ShapeError(f"flow.matmul takes two or more axes, got shapes {shape_of(left)} and {shape_of(right)}")
    product = ops.matmul(left, right, transpose_a, transpose_b)
    return product if alpha == 1.0 else ops.mul(product, alpha)


__getattr__ = guard("flow.linalg", __all__)
