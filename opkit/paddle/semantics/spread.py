"""Variance and standard deviation as Paddle has them: of one element they are 0, also where they are unbiased."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.value import shape_of
from opkit.paddle.semantics import builders as ops


def var(x: Any, axis: Any, unbiased: bool, keepdims: bool) -> Any:
    """Return the variance over axes, divided by n - 1 where ``unbiased`` and n exceeds 1.

    Source: Paddle 2.6, paddle.var.
    """
    return ops.var(x, axis, keepdims, unbiased and _counts_several(x, axis))


def std(x: Any, axis: Any, unbiased: bool, keepdims: bool) -> Any:
    """Return the standard deviation over axes, of n - 1 where ``unbiased`` and n exceeds 1.

    Source: Paddle 2.6, paddle.std.
    """
    return ops.std(x, axis, keepdims, unbiased and _counts_several(x, axis))


def _counts_several(x: Any, axes: Any) -> bool:
    """Return whether more than one element is reduced; true where that is not known."""
    shape = shape_of(x)
    if axes is None:
        return shape != (1,) * len(shape)
    return len(shape) > 0 and not {shape[one] for one in ([axes] if isinstance(axes, int) else axes)} <= {1}
