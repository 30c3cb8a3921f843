"""Reductions of sorted segments of rows, by Paddle's names and checks.

Messages along the edges of a graph of nodes: from a source's row, with the edge's own, reduced at the target.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ops.composed.places import REDUCTIONS, reduced_rows
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, need_value, needed
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


_MESSAGES = {"add": ops.add, "sub": ops.sub, "mul": ops.mul, "div": ops.div}


def send_u_recv(
    x: Any, src_index: Any, dst_index: Any, reduce_op: str = "sum", out_size: Any = None, name: Name = None
) -> Any:
    """Return, per node, the rows of the sources of its edges, reduced.

    Args:
        x: one row per node, (nodes, ...).
        src_index: (edges,), where each edge begins.
        dst_index: (edges,), where it ends.
        reduce_op: "sum", "mean", "max" or "min"; zeros where no edge ends.
        out_size: rows of the result; None, 0 or less: as many as x has.
        name: accepted, without effect.

    Raises:
        UsageError: there is no such reduction.
        IndexError: an edge begins or ends at no row.
    """
    messages = _sent("send_u_recv", x, src_index)
    return _received("send_u_recv", messages, dst_index, x, reduce_op, out_size)


def send_ue_recv(
    x: Any,
    y: Any,
    src_index: Any,
    dst_index: Any,
    message_op: str = "add",
    reduce_op: str = "sum",
    out_size: Any = None,
    name: Name = None,
) -> Any:
    """Return, per node, the rows of the sources of its edges, joined with the edges' own rows and reduced.

    Args:
        x: one row per node, (nodes, ...).
        y: one row per edge, (edges, ...), which broadcasts against x's.
        src_index: (edges,), where each edge begins.
        dst_index: (edges,), where it ends.
        message_op: "add", "sub", "mul" or "div".
        reduce_op: as in ``send_u_recv``, like the rest.
        out_size: rows of the result.
        name: accepted, without effect.
    """
    join = _joining("send_ue_recv", message_op)
    edges = needed(y)
    sent = _sent("send_ue_recv", x, src_index)
    if len(edges.shape) == 1 and len(sent.shape) > 1:
        edges = ops.reshape(edges, [-1] + [1] * (len(sent.shape) - 1))
    return _received("send_ue_recv", join(sent, edges), dst_index, x, reduce_op, out_size)


def send_uv(x: Any, y: Any, src_index: Any, dst_index: Any, message_op: str = "add", name: Name = None) -> Any:
    """Return, per edge, the row of x where it begins joined with the row of y where it ends."""
    join = _joining("send_uv", message_op)
    return join(_sent("send_uv", x, src_index), _sent("send_uv", y, dst_index, "y", "dst_index"))


def _joining(function: str, name: str) -> Any:
    if name not in _MESSAGES:
        raise UsageError(f"{function}: message_op is one of {', '.join(_MESSAGES)}, got {name!r}")
    return _MESSAGES[name]


def _sent(function: str, x: Any, index: Any, argument: str = "x", named: str = "src_index") -> Any:
    dynamic_only(function)
    count = need_value(function, argument, x).shape[0]
    return ops.gather(x, numbers_of(function, named, index, count=count), 0)


def _received(function: str, messages: Any, index: Any, x: Any, how: str, out_size: Any) -> Any:
    if how not in REDUCTIONS:
        raise UsageError(f"{function}: reduce_op is one of {', '.join(REDUCTIONS)}, got {how!r}")
    given = 0 if out_size is None else ints(out_size)[0]
    count = given if given > 0 else x.shape[0]
    return reduced_rows(messages, numbers_of(function, "dst_index", index, messages.shape[0], count), count, how)
