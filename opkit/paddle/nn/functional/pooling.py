"""Pools over one to three axes, with windows that are given or that divide the axes into parts."""

from __future__ import annotations

import math
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Name
from opkit.paddle.nn.functional.axes import channel_layout, each, padding_pairs
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, need_axes, needed, titled
from opkit.shim.missing import guard as _guard

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool2d",
]


# ---- given windows ---------------------------------------------------------------------------------------------------
def _padding(padding: Any, dims: int, data_format: str) -> Any:
    """Return a pool's padding as the builders take it."""
    if isinstance(padding, str):
        return {"SAME": "same_upper", "VALID": "valid"}.get(padding.upper(), padding)
    first = data_format.startswith("NC")
    return padding_pairs(padding, dims, list(range(2, dims + 2) if first else range(1, dims + 1)))


def _max_pool(rank: int, layout: str) -> Any:
    """Return Paddle's pool of the largest elements over so many axes."""
    function = f"max_pool{rank}d"

    def pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = layout,
        name: Name = None,
    ) -> Any:
        left, order = _padding(padding, rank, data_format), channel_layout(data_format)
        if return_mask and order != "channels_first":
            raise UsageError(f"{function}: a mask is returned with the channels first only, got {data_format!r}")
        largest = ops.max_pool(need_axes(function, x, rank + 2), kernel_size, stride, left, ceil_mode, order)
        if not return_mask:
            return largest
        return largest, ops.max_pool_places(x, largest, kernel_size, stride, left, ceil_mode)

    return titled(pool, function, "Return the largest of each window.")


max_pool2d = _max_pool(2, "NCHW")
max_pool3d = _max_pool(3, "NCDHW")
_max_pool1d = _max_pool(1, "NCL")


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: Name = None,
) -> Any:
    """Return the largest of each window."""
    return _max_pool1d(x, kernel_size, stride, padding, return_mask, ceil_mode)


def max_unpool2d(
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCHW",
    output_size: Any = None,
    name: Name = None,
) -> Any:
    """Return zeros with the elements of x where ``max_pool2d(return_mask=True)`` found them."""
    needed(indices)
    if channel_layout(data_format) != "channels_first":
        raise UsageError(f"max_unpool2d: the channels come first, got {data_format!r}")
    if needed(x).ndim != 4:
        raise UsageError(f"max_unpool2d: x has 4 axes, got shape {list(x.shape)}")
    window = (kernel_size, kernel_size if stride is None else stride, padding)
    usual = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(x.shape[2:], *(each(item, 2) for item in window))]
    given = usual if output_size is None else ints(output_size)[-2:]
    if len(given) != 2 or any(abs(n - m) >= s for n, m, s in zip(given, usual, each(window[1], 2))):
        raise UsageError(
            f"max_unpool2d: output_size {output_size!r} does not fit",
            help=f"it is less than a stride away from {usual}",
        )
    return ops.max_unpool(x, indices, given)


def _avg_pool(rank: int, layout: str) -> Any:
    """Return Paddle's pool of means over so many axes."""
    function = f"avg_pool{rank}d"

    def pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = layout,
        name: Name = None,
    ) -> Any:
        need_axes(function, x, rank + 2)
        left, order = _padding(padding, rank, data_format), channel_layout(data_format)
        mean = ops.avg_pool(x, kernel_size, stride, left, ceil_mode, order, exclusive)
        if divisor_override is None:
            return mean
        # As in Paddle: the mean that ``exclusive`` asks for, times the window's size, over the divisor.
        return ops.div(ops.mul(mean, math.prod(each(kernel_size, rank))), divisor_override)

    return titled(pool, function, "Return the mean of each window; ``exclusive``: padding does not count.")


avg_pool2d = _avg_pool(2, "NCHW")
avg_pool3d = _avg_pool(3, "NCDHW")
_avg_pool1d = _avg_pool(1, "NCL")


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: Name = None,
) -> Any:
    """Return the mean of each window; ``exclusive``: padding does not count."""
    return _avg_pool1d(x, kernel_size, stride, padding, ceil_mode, exclusive)


# ---- windows that divide the axes ------------------------------------------------------------------------------------
def _parts(output_size: Any, rank: int) -> list[Any]:
    return list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * rank


def _adaptive_mean(rank: int, what: str, layout: str) -> Any:
    """Return Paddle's pool of means over windows that divide so many axes."""
    function = f"adaptive_avg_pool{rank}d"

    def pool(x: Any, output_size: Any, data_format: str = layout, name: Name = None) -> Any:
        first = 2 if channel_layout(data_format) == "channels_first" else 1
        axes = list(range(first, first + rank))
        return ops.adaptive_pool(need_axes(function, x, rank + 2), _parts(output_size, rank), axes, ops.reduce_mean)

    return titled(pool, function, f"Return means over windows that divide the {what} into ``output_size`` parts.")


adaptive_avg_pool2d = _adaptive_mean(2, "image", "NCHW")
adaptive_avg_pool3d = _adaptive_mean(3, "volume", "NCDHW")
_adaptive_avg_pool1d = _adaptive_mean(1, "length", "NCL")


def adaptive_avg_pool1d(x: Any, output_size: Any, name: Name = None) -> Any:
    """Return means over windows that divide the length into ``output_size`` parts."""
    return _adaptive_avg_pool1d(x, output_size)


def _adaptive_max(rank: int, what: str) -> Any:
    """Return Paddle's pool of the largest elements over windows that divide so many axes."""
    function = f"adaptive_max_pool{rank}d"

    def pool(x: Any, output_size: Any, return_mask: bool = False, name: Name = None) -> Any:
        wanted = _parts(output_size, rank)
        if return_mask:
            return ops.adaptive_max_pool(need_axes(function, x, rank + 2), wanted)
        axes = list(range(2, 2 + rank))
        return ops.adaptive_pool(need_axes(function, x, rank + 2), wanted, axes, ops.reduce_max)

    text = f"Return the largest over windows that divide the {what} into ``output_size`` parts."
    return titled(pool, function, text)


adaptive_max_pool1d = _adaptive_max(1, "length")
adaptive_max_pool2d = _adaptive_max(2, "image")
adaptive_max_pool3d = _adaptive_max(3, "volume")


__getattr__ = _guard(globals())
