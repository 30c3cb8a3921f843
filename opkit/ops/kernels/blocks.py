"""Kernels of several passes run block by block, so that what one pass wrote is still in the cache for the next.

Only the order of memory access is decided here; there are no ops. A block is computed exactly as the whole would be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy import ndarray

#: Elements per block: a few arrays of them fit a core's second-level cache.
BLOCK = 16384


def elementwise_blocks(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel ``(*arrays, out=None, **attrs)`` of one shape and dtype that works on large arrays in blocks.

    Args:
        kernel: ``kernel(*arrays, **attrs)`` -> an array of the operands' shape and dtype, element by element; the
            attribute ``small`` of the result.
    """

    @wraps(kernel)
    def blocked(*arrays: Any, out: ndarray | None = None, **attrs: Any) -> Any:
        first = arrays[0]
        if first.size < 2 * BLOCK or not _are_alike(arrays):
            result = kernel(*arrays, **attrs) if attrs else kernel(*arrays)
            if out is None:
                return result
            np.copyto(out, result)
            return out
        if out is None or not out.flags.c_contiguous:
            target = np.empty(first.shape, first.dtype)
        else:
            target = out
        flat, pieces = target.reshape(-1), [array.reshape(-1) for array in arrays]
        for start in range(0, first.size, BLOCK):
            part = slice(start, start + BLOCK)
            flat[part] = kernel(*[piece[part] for piece in pieces], **attrs)
        if out is not None and target is not out:
            np.copyto(out, target)
            return out
        return target

    blocked.small = kernel  # type: ignore[attr-defined]
    return blocked


def row_blocks(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel ``(*arrays, out=None)`` over the last axis that works on large arrays some rows at a time.

    Args:
        kernel: ``kernel(*arrays, out=None)`` on arrays of one shape; each row along the last axis is independent.
    """

    @wraps(kernel)
    def blocked(*arrays: Any, out: ndarray | None = None) -> Any:
        first = arrays[0]
        width = first.shape[-1] if first.ndim else 1
        if first.size < 2 * BLOCK or width > BLOCK or not _are_alike(arrays):
            return kernel(*arrays, out=out)
        if out is None or not out.flags.c_contiguous:
            target = np.empty(first.shape, first.dtype)
        else:
            target = out
        rows, pieces = target.reshape(-1, width), [array.reshape(-1, width) for array in arrays]
        step = max(1, BLOCK // width)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            kernel(*[piece[part] for piece in pieces], out=rows[part])
        if out is not None and target is not out:
            np.copyto(out, target)
            return out
        return target

    return blocked


def _are_alike(arrays: tuple[Any, ...]) -> bool:
    first = arrays[0]
    return all(
        array.shape == first.shape and array.dtype == first.dtype and array.flags.c_contiguous for array in arrays
    )
