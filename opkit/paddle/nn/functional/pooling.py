"""Pools over one to three axes, with windows that are given or that divide the axes into parts."""

from __future__ import annotations

import math
from typing import Any

from opkit.errors import UsageError
from opkit.paddle.nn.functional.axes import channel_layout, each, padding_pairs
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, need_value
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


def _max_pool(
    dims: int, x: Any, window: tuple[Any, Any, Any], return_mask: bool, ceil_mode: bool, data_format: str
) -> Any:
    function, (size, stride, padding) = f"max_pool{dims}d", window
    left, layout = _padding(padding, dims, data_format), channel_layout(data_format)
    if return_mask and layout != "channels_first":
        raise UsageError(f"{function}: a mask is returned with the channels first only, got {data_format!r}")
    largest = ops.max_pool(need_value(function, "x", x), size, stride, left, ceil_mode, layout)
    return (largest, ops.max_pool_places(x, largest, size, stride, left, ceil_mode)) if return_mask else largest


def _max_unpool(
    dims: int, x: Any, indices: Any, window: tuple[Any, Any, Any], output_size: Any, data_format: str
) -> Any:
    function = f"max_unpool{dims}d"
    need_value(function, "indices", indices)
    if channel_layout(data_format) != "channels_first":
        raise UsageError(f"{function}: the channels come first, got {data_format!r}")
    if need_value(function, "x", x).ndim != dims + 2:
        raise UsageError(f"{function}: x has {dims + 2} axes, got shape {list(x.shape)}")
    size, stride, padding = (each(window[0] if item is None else item, dims) for item in window)
    usual = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(x.shape[2:], stride, size, padding)]
    given = usual if output_size is None else ints(output_size)[-dims:]
    if len(given) != dims or any(abs(n - m) >= s for n, m, s in zip(given, usual, stride)):
        raise UsageError(
            f"{function}: output_size {output_size!r} does not fit",
            help=f"it is less than a stride away from {usual}",
        )
    return ops.max_unpool(x, indices, given)


def _avg_pool(
    dims: int,
    x: Any,
    window: tuple[Any, Any, Any],
    ceil_mode: bool,
    exclusive: bool,
    divisor: float | None,
    data_format: str,
) -> Any:
    size, stride, padding = window
    need_value(f"avg_pool{dims}d", "x", x)
    left, layout = _padding(padding, dims, data_format), channel_layout(data_format)
    if divisor is None:
        return ops.avg_pool(x, size, stride, left, ceil_mode, layout, exclusive)
    # As in Paddle: the mean that ``exclusive`` asks for, times the window's size, over the divisor.
    mean = ops.avg_pool(x, size, stride, left, ceil_mode, layout, exclusive)
    return ops.div(ops.mul(mean, math.prod(each(size, dims))), divisor)


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Return the largest of each window."""
    return _max_pool(1, x, (kernel_size, stride, padding), return_mask, ceil_mode, "NCL")


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Return the largest of each window."""
    return _max_pool(2, x, (kernel_size, stride, padding), return_mask, ceil_mode, data_format)


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Return the largest of each window."""
    return _max_pool(3, x, (kernel_size, stride, padding), return_mask, ceil_mode, data_format)


def max_unpool2d(
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCHW",
    output_size: Any = None,
    name: str | None = None,
) -> Any:
    """Return zeros with the elements of x where ``max_pool2d(return_mask=True)`` found them."""
    return _max_unpool(2, x, indices, (kernel_size, stride, padding), output_size, data_format)


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Return the mean of each window; ``exclusive``: padding does not count."""
    return _avg_pool(1, x, (kernel_size, stride, padding), ceil_mode, exclusive, None, "NCL")


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Return the mean of each window; ``exclusive``: padding does not count."""
    return _avg_pool(2, x, (kernel_size, stride, padding), ceil_mode, exclusive, divisor_override, data_format)


def avg_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Return the mean of each window; ``exclusive``: padding does not count."""
    return _avg_pool(3, x, (kernel_size, stride, padding), ceil_mode, exclusive, divisor_override, data_format)


# ---- windows that divide the axes ------------------------------------------------------------------------------------
def _adaptive(function: str, dims: int, x: Any, output_size: Any, data_format: str, reduce: Any) -> Any:
    first = 2 if channel_layout(data_format) == "channels_first" else 1
    wanted = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * dims
    return ops.adaptive_pool(need_value(function, "x", x), wanted, list(range(first, first + dims)), reduce)


def _adaptive_max(dims: int, x: Any, output_size: Any, return_mask: bool, data_format: str) -> Any:
    function = f"adaptive_max_pool{dims}d"
    if not return_mask:
        return _adaptive(function, dims, x, output_size, data_format, ops.reduce_max)
    wanted = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * dims
    return ops.adaptive_max_pool(need_value(function, "x", x), wanted)


def adaptive_avg_pool1d(x: Any, output_size: Any, name: str | None = None) -> Any:
    """Return means over windows that divide the length into ``output_size`` parts."""
    return _adaptive("adaptive_avg_pool1d", 1, x, output_size, "NCL", ops.reduce_mean)


def adaptive_avg_pool2d(x: Any, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Return means over windows that divide the image into ``output_size`` parts."""
    return _adaptive("adaptive_avg_pool2d", 2, x, output_size, data_format, ops.reduce_mean)


def adaptive_avg_pool3d(x: Any, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> Any:
    """Return means over windows that divide the volume into ``output_size`` parts."""
    return _adaptive("adaptive_avg_pool3d", 3, x, output_size, data_format, ops.reduce_mean)


def adaptive_max_pool1d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest over windows that divide the length into ``output_size`` parts."""
    return _adaptive_max(1, x, output_size, return_mask, "NCL")


def adaptive_max_pool2d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest over windows that divide the image into ``output_size`` parts."""
    return _adaptive_max(2, x, output_size, return_mask, "NCHW")


def adaptive_max_pool3d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest over windows that divide the volume into ``output_size`` parts."""
    return _adaptive_max(3, x, output_size, return_mask, "NCDHW")


__getattr__ = _guard(__name__, globals())
