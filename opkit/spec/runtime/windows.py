"""Window arithmetic: output sizes and paddings of convolution and pooling, as OneFlow computes them.

Source: OneFlow v0.4.0, core/operator/operator_util.cpp, user/ops/nn_util.cpp, user/utils/pool_util.cpp.
"""

from __future__ import annotations

from typing import TypeAlias

from opkit.spec.runtime.arithmetic import idiv, to_i32, to_i64
from opkit.spec.runtime.containers import Cell
from opkit.spec.runtime.faults import FatalError, check
from opkit.spec.runtime.objects import Shape

__all__ = [
    "Params3D",
    "calc_conv_out",
    "calc_out_and_padding",
    "calc_same_padding",
    "channel_index",
    "in_dim",
    "index_offset",
    "windowed_ceil",
]

#: One number for each axis.
_Sizes: TypeAlias = list[int]


def _effective(size: int, dilation: int, stride: int) -> int:
    check(stride > 0, f"stride must be positive, not {stride}")
    check(dilation >= 1, f"dilation must be at least 1, not {dilation}")
    return to_i32(to_i32((size - 1) * dilation) + 1)


def _store(cell: Cell | None, value: int) -> None:
    if cell is not None:
        cell.v = value


def _store_size(cell: Cell | None, value: int) -> None:
    if cell is not None:
        cell.v = value
        check(value >= 0, f"the output size {value} is negative")


def _same(size: int, effective: int, stride: int) -> tuple[int, int]:
    out = idiv(to_i64(size + stride - 1), stride)
    return out, max(0, to_i32(to_i64((out - 1) * stride) + effective - size))


def calc_out_and_padding(
    size: int,
    window: int,
    dilation: int,
    stride: int,
    kind: str,
    out: Cell | None,
    before: Cell | None,
    after: Cell | None,
) -> None:
    """Return the output size and padding of a window by padding type "valid" or "same"."""
    effective = _effective(window, dilation, stride)
    if kind == "valid":
        value, needed = idiv(size - effective + stride, stride), 0
    elif kind == "same":
        value, needed = _same(size, effective, stride)
    else:
        raise FatalError(f"padding type {kind!r} is not 'valid' or 'same'")
    _store(before, needed // 2)
    _store(after, needed - needed // 2)
    _store_size(out, value)


def windowed_ceil(
    size: int,
    window: int,
    dilation: int,
    stride: int,
    kind: str,
    ceil: bool,
    out: Cell | None,
    before: Cell | None,
    after: Cell | None,
) -> None:
    """Return the output size and padding of a window, with the padding types of pooling and ceil mode."""
    effective = _effective(window, dilation, stride)
    if kind == "customized":
        if out is not None and before is not None and after is not None:
            total = size + before.v + after.v - effective + stride + (stride - 1 if ceil else 0)
            _store_size(out, idiv(total, stride))
        return
    if kind == "valid":
        _store(before, 0)
        _store(after, 0)
        _store_size(out, idiv(size - effective + stride, stride))
        return
    value, needed = _same(size, effective, stride)
    small, large = needed // 2, needed - needed // 2
    if kind not in ("same_upper", "same_lower"):
        raise FatalError(f"padding type {kind!r} is not supported")
    _store(before, small if kind == "same_upper" else large)
    _store(after, large if kind == "same_upper" else small)
    _store_size(out, value)


def calc_same_padding(
    size: int, window: int, dilation: int, stride: int, small: Cell | None, large: Cell | None
) -> None:
    """Return the padding that keeps the size."""
    effective = _effective(window, dilation, stride)
    needed = _same(size, effective, stride)[1]
    _store(small, needed // 2)
    _store(large, needed - needed // 2)


def calc_conv_out(size: int, window: int, dilation: int, stride: int, before: int, out: Cell | None) -> None:
    """Return the output size of a convolution."""
    effective = _effective(window, dilation, stride)
    _store_size(out, idiv(size + to_i32(2 * before) - effective + stride, stride))


def index_offset(data_format: str) -> int:
    """Return the first spatial axis."""
    if data_format in ("channels_first", "channels_last"):
        return 2 if data_format == "channels_first" else 1
    raise FatalError(f"data_format {data_format!r} is not 'channels_first' or 'channels_last'")


def channel_index(data_format: str, count: int) -> int:
    """Return the channel axis."""
    return 1 if index_offset(data_format) == 2 else count - 1


def in_dim(shape: Shape, data_format: str, dim: int, count: int) -> int:
    """Return the size of one of three spatial axes, 1 where the shape has fewer."""
    offset = index_offset(data_format)
    index = offset + dim - (3 - count)
    return 1 if index < offset else shape.at(index)


class Params3D:
    """The window arithmetic of pooling, over three spatial axes."""

    __slots__ = (
        "batch",
        "channel",
        "count",
        "data_format",
        "padding_after",
        "padding_before",
        "size",
        "strides",
        "x",
        "y",
    )

    def __init__(
        self,
        count: int,
        x: Shape,
        data_format: str,
        padding: str,
        before: _Sizes,
        after: _Sizes,
        size: _Sizes,
        strides: _Sizes,
        ceil: bool,
    ) -> None:
        self._place(count, x, data_format, size, strides)
        self.padding_before = _three(before, count, 0)
        self.padding_after = _three(after, count, 0)
        self.y = [0, 0, 0]
        for axis in range(3):
            out, front, rear = Cell(0), Cell(self.padding_before[axis]), Cell(self.padding_after[axis])
            windowed_ceil(self.x[axis], self.size[axis], 1, self.strides[axis], padding, ceil, out, front, rear)
            self.y[axis], self.padding_before[axis], self.padding_after[axis] = out.v, front.v, rear.v

    def _place(self, count: int, x: Shape, data_format: str, size: _Sizes, strides: _Sizes) -> None:
        self.count, self.data_format = count, data_format
        self.size, self.strides = _three(size, count, 1), _three(strides, count, 1)
        self.x = [in_dim(x, data_format, axis, count) for axis in range(3)]
        self.channel = x.at(1) if data_format == "channels_first" else x.at(len(x.dims) - 1)
        self.batch = x.at(0)

    def y_shape(self) -> Shape:
        """Return the shape of the pooled tensor."""
        check(self.count in (1, 2, 3), f"pooling over {self.count} axes")
        spatial = self.y[3 - self.count :]
        if self.data_format == "channels_first":
            return Shape((self.batch, self.channel, *spatial))
        return Shape((self.batch, *spatial, self.channel))

    def shape_5d(self, of_y: bool) -> Shape:
        """Return the shape with three spatial axes, channels first."""
        return Shape((self.batch, self.channel, *(self.y if of_y else self.x)))


def _three(values: _Sizes, count: int, missing: int) -> _Sizes:
    lead = 3 - count
    out = []
    for axis in range(3):
        if axis < lead:
            out.append(missing)
        else:
            check(axis - lead < len(values), f"index {axis - lead} is out of range for {len(values)} elements")
            out.append(values[axis - lead])
    return out
