"""Reductions of sorted segments of rows, by Paddle's names and checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ops.composed.places import reduced_rows
from opkit.ops.core.types import Name
from opkit.paddle.tensor.checks import need_value
from opkit.paddle.tensor.search import dynamic_only


def numbers_of(function: str, argument: str, item: Any, length: int | None = None, count: int | None = None) -> Any:
    """Return a vector of row numbers as it is.

    Args:
        function: which function was called, for messages.
        argument: which of its arguments this is.
        item: the vector.
        length: how many numbers it has; None: any.
        count: how many rows there are; None: any.

    Raises:
        DtypeError: it is not a Tensor.
        ShapeError: it is not a vector of that length.
        UsageError: it does not hold integers.
        IndexError: a number is negative, or there is no such row.
    """
    data = need_value(function, argument, item)._data
    if data.dtype.kind not in "iu":
        raise UsageError(f"{function}: {argument} must hold integers, got {data.dtype}")
    if data.ndim != 1 or (length is not None and len(data) != length):
        wanted = "a vector" if length is None else f"a vector of {length}"
        raise ShapeError(f"{function}: {argument} is {wanted}, got shape {list(data.shape)}")
    if len(data) and (data.min() < 0 or (count is not None and data.max() >= count)):
        rows = "" if count is None else f", there are {count} rows"
        raise IndexError(
            f"{function}: {argument} has a row number {data.min() if data.min() < 0 else data.max()}{rows}"
        )
    return item


def _segment(how: str, data: Any, segment_ids: Any) -> Any:
    function = f"segment_{how}"
    dynamic_only(function)
    rows = need_value(function, "data", data)._data
    numbers = numbers_of(function, "segment_ids", segment_ids, len(rows))._data
    if bool((np.diff(numbers) < 0).any()):
        raise UsageError(f"{function}: segment_ids must not decrease, got {numbers[:8].tolist()}")
    count = int(numbers[-1]) + 1 if len(numbers) else 0
    return reduced_rows(data, segment_ids, count, how)


def segment_sum(data: Any, segment_ids: Any, name: Name = None) -> Any:
    """Return the sum of the rows of each segment.

    Args:
        data: (n, ...).
        segment_ids: (n,), integers that do not decrease; a segment without rows gives zeros.
        name: accepted, without effect.
    """
    return _segment("sum", data, segment_ids)


def segment_mean(data: Any, segment_ids: Any, name: Name = None) -> Any:
    """Return the mean of the rows of each segment; arguments as in ``segment_sum``."""
    return _segment("mean", data, segment_ids)


def segment_max(data: Any, segment_ids: Any, name: Name = None) -> Any:
    """Return the largest elements of each segment; arguments as in ``segment_sum``."""
    return _segment("max", data, segment_ids)


def segment_min(data: Any, segment_ids: Any, name: Name = None) -> Any:
    """Return the smallest elements of each segment; arguments as in ``segment_sum``."""
    return _segment("min", data, segment_ids)
