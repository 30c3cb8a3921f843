"""Maximum and average pools over 1, 2 and 3 axes.

One pass per place in the window, each a whole strided slice, instead of one per output. Convolutions are in
``opkit.ops.network.conv``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import Shape, TensorDesc
from opkit.ops.arrange.joining import concat
from opkit.ops.arrange.slicing import slice as slice_of
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_floating, like, shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Ints, Out, Values
from opkit.ops.core.value import Value, known_size, ndim_of
from opkit.ops.network.conv import window_list

_ATTRS = (
    "padding:string padding_before:vector<int32> padding_after:vector<int32> data_format:string"
    " pool_size:vector<int32> strides:vector<int32> ceil_mode:bool"
)
_DEFAULTS = {"padding": "customized", "data_format": "channels_first"}


# ---- geometry --------------------------------------------------------------------------------------------------------
class Pooling:
    """The geometry of one pool: spatial axes, paddings and sizes of the output.

    Source: OneFlow v0.4 ``Params3D``, whose ceil_mode, unlike Paddle's, may let a window begin in the padding.
    """

    __slots__ = ("after", "axes", "before", "outputs", "shape", "size", "strides")

    def __init__(self, shape: Ints, attrs: Attrs) -> None:
        is_last = attrs["data_format"] in ("channels_last", "NWC", "NHWC", "NDHWC")
        self.shape = tuple(shape)
        self.axes = tuple(range(1, len(shape) - 1)) if is_last else tuple(range(2, len(shape)))
        self.size, self.strides = tuple(attrs["pool_size"]), tuple(attrs["strides"])
        inputs = [shape[axis] for axis in self.axes]
        self.before, self.after = _paddings(attrs, inputs, self.size, self.strides)
        self.outputs = tuple(
            -1 if n == -1 else max(0, _steps(n + b + a - k, s, ceil=attrs["ceil_mode"]) + 1)
            for n, b, a, k, s in zip(inputs, self.before, self.after, self.size, self.strides)
        )

    def checked(self) -> Pooling:
        """Return this, unless no window fits.

        Raises:
            ShapeError: the window is larger than the padded input.
        """
        if 0 in self.outputs:
            raise ShapeError(f"the window {self.size} is larger than the padded input of shape {self.shape}")
        return self

    def whole(self, sizes: Ints) -> Shape:
        """Return the shape with these spatial sizes."""
        shape = list(self.shape)
        for axis, size in zip(self.axes, sizes):
            shape[axis] = size
        return tuple(shape)

    def places(self) -> Any:
        """Yield, for each place in the window, the slices of the padded input that it reads."""
        for offset in product(*map(range, self.size)):
            index = [slice(None)] * len(self.shape)
            for axis, o, s, n in zip(self.axes, offset, self.strides, self.outputs):
                index[axis] = slice(o, o + s * (n - 1) + 1, s)
            yield tuple(index)

    def pad(self, x: ndarray, fill: float) -> ndarray:
        """Return the input with padding, wide enough for the last window."""
        sizes = [
            max(x.shape[axis] + b, s * (n - 1) + k)
            for axis, b, s, n, k in zip(self.axes, self.before, self.strides, self.outputs, self.size)
        ]
        if self.whole(sizes) == x.shape:
            return x
        wide = np.full(self.whole(sizes), fill, x.dtype)
        wide[self.inner()] = x
        return wide

    def inner(self) -> tuple[slice, ...]:
        """Return the slices of the padded input where the input itself lies."""
        index = [slice(None)] * len(self.shape)
        for axis, first in zip(self.axes, self.before):
            index[axis] = slice(first, first + self.shape[axis])
        return tuple(index)

    def counts(self, attrs: Attrs) -> ndarray:
        """Return by what each window is divided, broadcastable to the output: padding counts unless exclusive."""
        total = np.ones((), np.int64)
        for k, axis in enumerate(self.axes):
            starts = np.arange(self.outputs[k]) * self.strides[k] - self.before[k]
            ends = starts + self.size[k]
            if attrs["exclusive"]:
                covered = np.minimum(ends, self.shape[axis]) - np.maximum(starts, 0)
            else:
                covered = np.minimum(ends, self.shape[axis] + self.after[k]) - starts
            total = total * np.maximum(covered, 1).reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return np.asarray(total)


def _steps(room: int, stride: int, *, ceil: bool) -> int:
    return -(-room // stride) if ceil else room // stride


def _paddings(attrs: Attrs, inputs: Ints, size: Ints, strides: Ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    kind = attrs["padding"]
    if kind == "valid":
        return (0,) * len(size), (0,) * len(size)
    if kind in ("same_lower", "same_upper"):
        missing = [max(0, (-(-n // s) - 1) * s + k - n) if n != -1 else 0 for n, k, s in zip(inputs, size, strides)]
        small, large = tuple(m // 2 for m in missing), tuple(m - m // 2 for m in missing)
        return (large, small) if kind == "same_lower" else (small, large)
    return tuple(attrs["padding_before"]), tuple(attrs["padding_after"])


# ---- maximum ---------------------------------------------------------------------------------------------------------
@quiet
def _max_pool(x: ndarray, out: Out = None, **attrs: Any) -> Any:
    pooling = Pooling(x.shape, attrs).checked()
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    wide = pooling.pad(x, lowest)
    places = pooling.places()
    y = np.empty(pooling.whole(pooling.outputs), x.dtype) if out is None else out
    np.copyto(y, wide[next(places)])
    for place in places:
        np.maximum(y, wide[place], out=y)
    return y


def _winners(x: ndarray, y: ndarray, pooling: Pooling) -> Any:
    """Yield each place with where it is the first of its window that holds the maximum."""
    wide = pooling.pad(x, -np.inf)
    open_windows = np.ones(y.shape, bool)
    for place in pooling.places():
        chosen = (wide[place] == y) & open_windows
        open_windows ^= chosen
        yield place, chosen


@quiet
def _max_pool_slope(x: ndarray, y: ndarray, dy: ndarray, **attrs: Any) -> ndarray:
    pooling = Pooling(x.shape, attrs)
    wide = pooling.pad(np.zeros(x.shape, dy.dtype), 0)
    for place, chosen in _winners(x, y, pooling):
        wide[place] += dy * chosen
    return np.ascontiguousarray(wide[pooling.inner()])


@quiet
def _max_pool_pick(x: ndarray, y: ndarray, g: ndarray, **attrs: Any) -> ndarray:
    pooling = Pooling(x.shape, attrs)
    wide = pooling.pad(g, 0)
    picked = np.zeros(y.shape, g.dtype)
    for place, chosen in _winners(x, y, pooling):
        picked += wide[place] * chosen
    return picked


@quiet
def _max_pool_places(x: ndarray, y: ndarray, **attrs: Any) -> ndarray:
    pooling = Pooling(x.shape, attrs)
    sizes = [x.shape[axis] for axis in pooling.axes]
    numbers = np.arange(np.prod(sizes, dtype=np.int64)).reshape(sizes)
    numbers = np.expand_dims(numbers, [axis for axis in range(x.ndim) if axis not in pooling.axes])
    wide = pooling.pad(np.broadcast_to(numbers, x.shape), 0)
    found = np.zeros(y.shape, np.int32)
    for place, chosen in _winners(x, y, pooling):
        np.copyto(found, wide[place], where=chosen, casting="same_kind")
    return found


# ---- average ---------------------------------------------------------------------------------------------------------
@quiet
def _avg_pool(x: ndarray, **attrs: Any) -> Any:
    pooling = Pooling(x.shape, attrs).checked()
    wide = pooling.pad(x.astype(np.float32) if x.dtype == np.float16 else x, 0)
    places = pooling.places()
    y = wide[next(places)].copy()
    for place in places:
        y += wide[place]
    y /= pooling.counts(attrs).astype(y.dtype)
    return y.astype(x.dtype, copy=False)


@quiet
def _avg_pool_slope(x: Any, y: Any, dy: ndarray, **attrs: Any) -> ndarray:
    pooling = Pooling(x.shape, attrs)
    wide = pooling.pad(np.zeros(x.shape, dy.dtype), 0)
    share = dy / pooling.counts(attrs).astype(dy.dtype)
    for place in pooling.places():
        wide[place] += share
    return np.ascontiguousarray(wide[pooling.inner()])


# ---- definitions -----------------------------------------------------------------------------------------------------
def _infer_pool(op: str, spatial: int) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        x = descs[0]
        if x.ndim != spatial + 2:
            raise shape_error(op, descs, f"it takes a tensor of {spatial + 2} axes")
        check_floating(op, descs)
        if min(*attrs["pool_size"], *attrs["strides"]) < 1:
            raise shape_error(op, descs, "the sizes and strides of its window must be at least 1")
        pooling = Pooling(x.shape, attrs)
        if any(size != -1 and size < 1 for size in pooling.outputs):
            raise shape_error(op, descs, f"the window {pooling.size} is larger than the padded input")
        return [TensorDesc(pooling.whole(pooling.outputs), x.dtype)]

    return infer


def _define_max(spatial: int) -> OpDef:
    name = f"max_pool_{spatial}d"

    def rule(applied: Any, douts: Values) -> Values:
        x, y = applied.inputs[0], applied.outputs[0]
        return (perform(slope, x, y, douts[0], **applied.attrs),)

    def slope_rule(applied: Any, douts: Values) -> Values:
        x, y, _ = applied.inputs
        return None, None, perform(pick, x, y, douts[0], **applied.attrs)

    def pick_rule(applied: Any, douts: Values) -> Values:
        x, y, _ = applied.inputs
        return None, None, perform(slope, x, y, douts[0], **applied.attrs)

    common: dict[str, Any] = {"attrs": _ATTRS, "defaults": _DEFAULTS, "reads": "x y"}
    grad, grad_grad = f"{name}_grad", f"{name}_grad_grad"
    slope = define(grad, "x y dy", "dx", _max_pool_slope, infer=like(0, dtype_from=2), grad=slope_rule, **common)
    pick = define(grad_grad, "x y g", "z", _max_pool_pick, infer=like(1), grad=pick_rule, **common)
    infer = _infer_pool(name, spatial)
    return define(name, "x", "y", _max_pool, infer=infer, grad=rule, out=_max_pool, **common)


def _define_avg(spatial: int) -> OpDef:
    name = f"avg_pool_{spatial}d"

    def rule(applied: Any, douts: Values) -> Values:
        return (perform(slope, applied.inputs[0], applied.outputs[0], douts[0], **applied.attrs),)

    def slope_rule(applied: Any, douts: Values) -> Values:
        return None, None, perform(opdef, douts[0], **applied.attrs)

    common: dict[str, Any] = {"attrs": f"{_ATTRS} exclusive:bool", "defaults": {**_DEFAULTS, "exclusive": True}}
    grad = f"{name}_grad"
    slope = define(grad, "=x =y dy", "dx", _avg_pool_slope, infer=like(0, dtype_from=2), grad=slope_rule, **common)
    opdef = define(name, "x", "y", _avg_pool, infer=_infer_pool(name, spatial), grad=rule, **common)
    return opdef


def _define_places(spatial: int) -> OpDef:
    name = f"max_pool_{spatial}d_places"

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        return [TensorDesc(descs[1].shape, "int32")]

    return define(name, "x y", "places", _max_pool_places, infer=infer, attrs=_ATTRS, defaults=_DEFAULTS)


_PLACES = {spatial: _define_places(spatial) for spatial in (1, 2, 3)}
_MAX = {spatial: _define_max(spatial) for spatial in (1, 2, 3)}
_AVG = {spatial: _define_avg(spatial) for spatial in (1, 2, 3)}


# ---- builders --------------------------------------------------------------------------------------------------------
def _pool_attrs(x: Value, size: Any, strides: Any, padding: Any, ceil_mode: bool, data_format: str) -> dict[str, Any]:
    spatial = ndim_of(x) - 2
    kind, before, after = "customized", padding, padding
    if isinstance(padding, str):
        kind, before, after = padding.lower(), 0, 0
    elif isinstance(padding, (tuple, list)) and padding and isinstance(padding[0], (tuple, list)):
        before, after = [pair[0] for pair in padding], [pair[1] for pair in padding]
    sizes = window_list(size, spatial, "pool_size")
    return {
        "padding": kind,
        "padding_before": window_list(before, spatial, "padding"),
        "padding_after": window_list(after, spatial, "padding"),
        "data_format": data_format,
        "pool_size": sizes,
        "strides": sizes if strides is None else window_list(strides, spatial, "stride"),
        "ceil_mode": bool(ceil_mode),
    }


def max_pool(
    x: Value,
    size: Any,
    strides: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Value:
    """Return the largest of each window; of several equal ones, the first gets the gradient.

    Args:
        x: ``(N, C, sizes...)`` with one to three sizes; channels_last: ``(N, sizes..., C)``.
        size: of the window, a number or one per axis.
        strides: left out: the window's size.
        padding: a number, one per axis, a pair per axis, or "valid", "same_lower", "same_upper".
        ceil_mode: a last window that is not full counts.
        data_format: "channels_first" or "channels_last".
    """
    return perform(_MAX[ndim_of(x) - 2], x, **_pool_attrs(x, size, strides, padding, ceil_mode, data_format))


def max_pool_places(
    x: Value,
    y: Value,
    size: Any,
    strides: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Value:
    """Return where ``y = max_pool(x, ...)`` found its elements: int32 numbers, the last axis counting fastest.

    Of several equal ones in a window the first counts. The other arguments are ``max_pool``'s.
    """
    attrs = _pool_attrs(x, size, strides, padding, ceil_mode, data_format)
    return perform(_PLACES[ndim_of(x) - 2], x, y, **attrs)


def avg_pool(
    x: Value,
    size: Any,
    strides: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
    exclusive: bool = True,
) -> Value:
    """Return the mean of each window; ``exclusive``: padding does not count. For the rest see ``max_pool``."""
    attrs = _pool_attrs(x, size, strides, padding, ceil_mode, data_format)
    return perform(_AVG[ndim_of(x) - 2], x, **attrs, exclusive=bool(exclusive))


def adaptive_pool(
    x: Value, counts: Sequence[int | None], axes: Ints, reduce: Callable[[Value, int, bool], Value]
) -> Value:
    """Return x with each axis reduced to a number of windows that divide it.

    Window i of n over an axis of size s is ``[i * s // n, ceil((i + 1) * s / n))``.

    Args:
        x: any shape.
        counts: number of windows per axis; None keeps the axis.
        axes: the axes that are reduced.
        reduce: a reduction ``(x, axis, keepdims)``.
    """
    for axis, count in zip(axes, counts):
        if count == 1:
            x = reduce(x, axis, True)
        elif count is not None:
            size, parts = known_size(x, axis, "a pool by number of windows"), int(count)
            ends = [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]
            x = concat([reduce(slice_of(x, [axis], [low], [high]), axis, True) for low, high in ends], axis)
    return x
