"""The arithmetic of convolutions on arrays: windows unfolded into columns, then matrix products.

The columns of some samples at a time: at most 8 MB, or one sample's. Where the outputs' rows are short, samples become
one more spatial axis, the last, so that what is copied lies together in long runs. Windows are unfolded along all axes
but the first, whose windows are views of what is unfolded; what lies a stride apart is laid side by side first. The
columns' memory is kept for the next call: fresh memory may cost more than the products. The ops are in
``opkit.ops.network.conv``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError

#: Bytes of unfolded columns at a time.
_COLUMN_BYTES = 1 << 23
#: Terms of a sum of the weight's gradient before it goes on in double precision, or a twentieth of all.
_SUMMED = 192
#: Rows of outputs shorter than this are short, where there are at least ``_FEW`` samples.
_SHORT, _FEW = 24, 8
#: Products of fewer columns than this are slow: then the first axis is unfolded too.
_NARROW = 96


class Window:
    """The geometry of one convolution, spatial axes only: sizes of input, kernel and output."""

    def __init__(self, attrs: Mapping[str, Any], inputs: Sequence[int], outputs: Sequence[int] | None = None) -> None:
        self.kernel = tuple(attrs["kernel_size"])
        self.strides = tuple(attrs["strides"])
        self.dilations = tuple(attrs["dilation_rate"])
        self.pads = tuple(attrs["padding_before"])
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs) if outputs is not None else self._sizes()

    def _sizes(self) -> tuple[int, ...]:
        return tuple(
            -1 if n == -1 else max(0, (n + 2 * p - d * (k - 1) - 1) // s + 1)
            for n, p, d, k, s in zip(self.inputs, self.pads, self.dilations, self.kernel, self.strides)
        )

    def kept(self) -> Window:
        """Return the one geometry that is equal to this, which keeps what is computed of it."""
        return _window(self._axes())

    def block(self, count: int) -> Window:
        """Return the geometry for a block of samples as ``laid`` lays it out."""
        return _window((*self._axes(), (1, 1, 1, 0, count, count))) if self._is_turned(count) else self

    @cached_property
    def split(self) -> tuple[Window, Window]:
        """The geometry with a first axis that need not be unfolded, and that of the others."""
        axes = self._axes()
        if self.is_pointwise or prod(self.outputs[1:]) < _NARROW:
            axes = ((1, 1, 1, 0, 1, 1), *axes)
        return _window(axes), _window(axes[1:])

    def _axes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(zip(self.kernel, self.strides, self.dilations, self.pads, self.inputs, self.outputs))

    def laid(self, samples: ndarray) -> ndarray:
        """Return a view ``(N, C, sizes...)`` of samples, or ``(1, C, sizes..., N)`` where rows are short."""
        return samples.transpose(*range(1, samples.ndim), 0)[None] if self._is_turned(len(samples)) else samples

    def _is_turned(self, count: int) -> bool:
        return count >= _FEW and self.outputs[-1] < _SHORT and not self.is_pointwise

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether each output reads one input: no unfolding is needed."""
        return set(self.kernel) == {1} and set(self.strides) == {1} and set(self.pads) == {0}

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """The sizes of the padded input that the offsets index."""
        needed = (
            d * (k - 1) + s * (n - 1) + 1 for d, k, s, n in zip(self.dilations, self.kernel, self.strides, self.outputs)
        )
        return tuple(max(n + 2 * p, last) for n, p, last in zip(self.inputs, self.pads, needed))

    @cached_property
    def phased(self) -> tuple[int, ...]:
        """The strides, and the sizes of the padded input between them: what lies a stride apart is side by side."""
        return *self.strides, *(-(-size // stride) for size, stride in zip(self.padded, self.strides))

    @cached_property
    def offsets(self) -> list[Any]:
        """For each place in the kernel, its index and the part of the padded input, in phases, that it reads."""
        found = []
        for offset in product(*map(range, self.kernel)):
            starts = [divmod(o * d, s) for o, d, s in zip(offset, self.dilations, self.strides)]
            part = (slice(start, start + n) for (start, _), n in zip(starts, self.outputs))
            found.append((offset, (..., *(phase for _, phase in starts), *part)))
        return found

    @cached_property
    def woven(self) -> list[Any]:
        """For each phase, the part of it that is input, and where that lies in the input."""
        found = []
        for phases in product(*map(range, self.strides)):
            places = [
                slice((phase - p) % s, n, s) for phase, p, s, n in zip(phases, self.pads, self.strides, self.inputs)
            ]
            firsts = [(place.start + p) // s for place, p, s in zip(places, self.pads, self.strides)]
            part = (slice(first, first + len(range(n)[place])) for first, place, n in zip(firsts, places, self.inputs))
            found.append(((..., *phases, *part), (..., *places)))
        return found

    @cached_property
    def reverse(self) -> Window | None:
        """The geometry by which the flipped kernel takes outputs to inputs; None where it is not a convolution's."""
        axes = [(k, s, d, d * (k - 1) - p, m, n) for k, s, d, p, n, m in self._axes()]
        return _window(tuple(axes)) if set(self.strides) == {1} and min(axis[3] for axis in axes) >= 0 else None


@lru_cache(256)
def _window(axes: tuple[tuple[int, ...], ...]) -> Window:
    kernel, strides, dilations, pads, inputs, outputs = zip(*axes)
    attrs = {"kernel_size": kernel, "strides": strides, "dilation_rate": dilations, "padding_before": pads}
    return Window(attrs, inputs, outputs)


class _Kept(threading.local):
    """A thread's memory for columns; None while a convolution uses it: a debugger may run another in between."""

    idle: ndarray | None = None

    def take(self) -> ndarray:
        """Return bytes to write into: untouched ones cost nothing, and large pages are quicker."""
        held, self.idle = self.idle, None
        return np.empty(_COLUMN_BYTES, np.uint8) if held is None else held


_kept = _Kept()


def _in(space: ndarray, shape: Sequence[int], dtype: np.dtype) -> Any:
    """Return an array in these bytes, or in fresh ones where they do not suffice."""
    return np.ndarray(shape, dtype, space.data if prod(shape) * dtype.itemsize <= space.size else None)


def _grouped(x: ndarray, groups: int, window: Window) -> Any:
    """Return a view ``(N, groups, first outputs, F/groups, outputs...)`` of results ``(N, F, ...)``."""
    return x.reshape(len(x), groups, -1, *window.outputs).swapaxes(2, 3)


def _unfold(x: ndarray, window: Window, others: Window, groups: int, space: ndarray) -> Any:
    """Return columns ``(N, groups, first outputs, first kernel * C/groups * kernel, outputs)`` of ``x (N, C, ...)``.

    What windows side by side along the first axis share is there once: rows of a matrix lie one after another.
    """
    x = x.reshape(len(x), groups, -1, *window.inputs).swapaxes(2, 3)
    columns = wide = x
    if window.padded != window.inputs or not x.flags.c_contiguous or max(others.strides) > 1:
        columns = wide = np.zeros((*x.shape[:2], window.padded[0], x.shape[3], *others.phased), x.dtype)
        rows = wide[:, :, window.pads[0] : window.pads[0] + x.shape[2]]
        for part, place in others.woven:
            rows[part] = x[place]
    if not others.is_pointwise:
        wide = wide.reshape(*wide.shape[:4], *others.phased)
        columns = _in(space, (*wide.shape[:4], *others.kernel, *others.outputs), x.dtype)
        for offset, part in others.offsets:
            columns[(slice(None),) * 4 + offset] = wide[part]
    columns = columns.reshape(*wide.shape[:3], -1, prod(others.outputs))
    kernel, stride, dilation, count = window.kernel[0], window.strides[0], window.dilations[0], window.outputs[0]
    if dilation > 1:
        at = np.arange(count)[:, None] * stride + np.arange(kernel) * dilation
        return columns[:, :, at].reshape(*columns.shape[:2], count, -1, columns.shape[4])
    by_sample, by_group, by_row, *within = columns.strides
    shape = (*columns.shape[:2], count, kernel * columns.shape[3], columns.shape[4])
    return np.ndarray(shape, x.dtype, columns, strides=(by_sample, by_group, stride * by_row, *within))


def _matrix(weight: ndarray, window: Window, groups: int) -> Any:
    """Return the weight ``(F, C/groups, kernel...)`` as ``(groups, 1, F/groups, terms)``, in the order of columns."""
    terms = weight.reshape(*weight.shape[:2], window.kernel[0], -1).swapaxes(1, 2)
    return terms.reshape(groups, 1, len(weight) // groups, -1)


def _fold(columns: ndarray, window: Window, target: ndarray) -> None:
    """Write the adjoint of ``_unfold`` into ``target (N, C, inputs...)``: all columns added where they were read."""
    if window.is_pointwise:
        target[...] = columns.reshape(target.shape)
        return
    wide = np.zeros((*columns.shape[:2], *window.phased), columns.dtype)
    for offset, part in window.offsets:
        wide[part] += columns[(slice(None),) * 2 + offset]
    for part, place in window.woven:
        target[place] = wide[part]


def _chunks(count: int, bytes_each: int) -> Any:
    step = max(1, _COLUMN_BYTES // max(1, bytes_each))
    return (slice(start, start + step) for start in range(0, count, step))


# ---- layouts ---------------------------------------------------------------------------------------------------------
def is_last(attrs: Mapping[str, Any]) -> bool:
    """Return whether the channels are the last axis."""
    return str(attrs["data_format"]) in ("channels_last", "NWC", "NHWC", "NDHWC")


def to_first(x: ndarray, attrs: Mapping[str, Any]) -> ndarray:
    """Return a view with the channels behind the samples."""
    return np.moveaxis(x, -1, 1) if is_last(attrs) else x


def from_first(x: ndarray, attrs: Mapping[str, Any]) -> ndarray:
    """Return channels-first data in the layout that the attributes name."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)) if is_last(attrs) else x


def first_shape(shape: Sequence[int], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """Return a shape with the channels behind the samples."""
    return (shape[0], shape[-1], *shape[1:-1]) if is_last(attrs) else tuple(shape)


def given_shape(shape: Sequence[int], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """Return a channels-first shape in the layout that the attributes name."""
    return (shape[0], *shape[2:], shape[1]) if is_last(attrs) else tuple(shape)


# ---- the three products ----------------------------------------------------------------------------------------------
def forward(x: ndarray, weight: ndarray, attrs: Mapping[str, Any], out: ndarray | None = None) -> ndarray:
    """Return ``(N, F, outputs...)`` of ``x (N, C, inputs...)`` and ``weight (F, C/groups, kernel...)``."""
    window = Window(attrs, x.shape[2:]).kept()
    if 0 in window.outputs:
        raise ShapeError(f"the kernel {window.kernel} is larger than the padded input {window.inputs}")
    return _forward(x, weight, window, attrs["groups"], out)


def _forward(x: ndarray, weight: ndarray, window: Window, groups: int, out: ndarray | None) -> ndarray:
    space = _kept.take()
    if out is None:
        out = np.empty((x.shape[0], weight.shape[0], *window.outputs), x.dtype)
    for part in _chunks(x.shape[0], prod(weight.shape[1:]) * groups * prod(window.outputs) * x.itemsize):
        first, others = window.block(len(x[part])).split
        columns, rows = _unfold(window.laid(x[part]), first, others, groups, space), _matrix(weight, first, groups)
        target = _grouped(window.laid(out[part]), groups, first)
        if target.flags.c_contiguous:
            np.matmul(rows, columns, out=target.reshape(*target.shape[:4], -1))
        else:
            target[...] = np.matmul(rows, columns).reshape(target.shape)
    _kept.idle = space
    return out


def by_data(
    dy: ndarray, weight: ndarray, shape: Sequence[int], attrs: Mapping[str, Any], out: ndarray | None = None
) -> ndarray:
    """Return the adjoint of ``_forward`` in x: ``(N, C, inputs...)`` of ``dy (N, F, outputs...)``."""
    window = Window(attrs, shape[2:], dy.shape[2:]).kept()
    groups, filters = attrs["groups"], weight.shape[0]
    if filters == groups and window.reverse:  # sums of as many terms as there are places in the kernel, either way
        flipped = np.flip(weight.reshape(shape[1], 1, *window.kernel), tuple(range(2, weight.ndim)))
        return _forward(dy, np.ascontiguousarray(flipped), window.reverse, groups, out)
    rows, space = weight.reshape(groups, filters // groups, -1).swapaxes(1, 2), _kept.take()
    dx = np.empty(tuple(shape), dy.dtype) if out is None else out
    each = rows.shape[1] * groups * prod(window.outputs) * dy.itemsize
    for part in _chunks(dy.shape[0], each):
        block, whole = window.laid(dy[part]), window.block(len(dy[part]))
        flat = block.reshape(len(block), groups, rows.shape[2], -1)
        columns = _in(space, (len(block), groups, rows.shape[1], flat.shape[3]), dy.dtype)
        # numpy multiplies matrices of one column slower than it broadcasts them.
        (np.multiply if rows.shape[2] == 1 else np.matmul)(rows, flat, out=columns)
        columns = columns.reshape(len(block), shape[1], *whole.kernel, *whole.outputs)
        _fold(columns, whole, window.laid(dx[part]))
    _kept.idle = space
    return dx


def by_weight(dy: ndarray, x: ndarray, attrs: Mapping[str, Any]) -> ndarray:
    """Return the adjoint of ``_forward`` in weight: ``(F, C/groups, kernel...)``."""
    window = Window(attrs, x.shape[2:], dy.shape[2:]).kept()
    groups, filters, channels = attrs["groups"], dy.shape[1], x.shape[1] // attrs["groups"]
    total, space = np.zeros((filters, channels, *window.kernel)), _kept.take()
    for part in _chunks(x.shape[0], channels * groups * prod(window.kernel) * prod(window.outputs) * x.itemsize):
        first, others = window.block(len(x[part])).split
        columns = _unfold(window.laid(x[part]), first, others, groups, space)
        flat = _grouped(window.laid(dy[part]), groups, first)
        flat = flat.reshape(*flat.shape[:4], -1)
        # One long sum would round more than many short ones: by samples, or in pieces where samples are an axis.
        count, wide = flat.shape[2], flat.shape[4]
        pieces = 1 if len(flat) == len(x[part]) else -(-wide // max(_SUMMED, count * wide // 20))
        step = -(-wide // pieces)
        for start in range(0, wide, step):
            piece = slice(start, start + step)
            found = np.matmul(columns[..., piece], flat[..., piece].swapaxes(3, 4)).sum(axis=(0, 2), dtype=np.float64)
            found = found.reshape(groups, first.kernel[0], channels, -1, filters // groups)
            total += np.moveaxis(found, (4, 2), (1, 2)).reshape(total.shape)
    _kept.idle = space
    return total.astype(x.dtype)
