"""Slices with start, stop and step per axis, padding.

``x[index]`` as numpy reads it is in ``opkit.ops.arrange.indexing``, flipping and repeating in ``turning``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import TensorDesc
from opkit.ops.arrange.selection import add_rows
from opkit.ops.basis.creation import zeros_like
from opkit.ops.core.define import define, first_only
from opkit.ops.core.inference import like, shape_error, unchanged
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Ints, Out, Values
from opkit.ops.core.value import Value, ndim_of, normal_axis

_SLICE_ATTRS = "start:vector<int64> stop:vector<int64> step:vector<int64>"


# ---- slice, slice_grad, slice_update ---------------------------------------------------------------------------------
def _window(start: Ints, stop: Ints, step: Ints, ndim: int) -> tuple[Any, ...]:
    if not len(start) == len(stop) == len(step) == ndim:
        raise ShapeError(f"op 'slice': start, stop and step need one entry for each of the {ndim} axes")
    window = []
    for first, last, stride in zip(start, stop, step):
        if stride == 0:
            raise ShapeError("op 'slice': a step must not be 0")
        # Source: OneFlow v0.4, which writes "up to the beginning" of a reversed axis as the smallest integer
        window.append(_slice(first, None if stride < 0 and last < -(2**62) else last, stride))
    return tuple(window)


# The builder below takes the name.
_slice: Any = slice


def _read(x: ndarray, start: Ints, stop: Ints, step: Ints) -> Any:
    return x[_window(start, stop, step, x.ndim)]


def _write_zeros(dy: ndarray, like: Any, start: Ints, stop: Ints, step: Ints) -> ndarray:
    dx = np.zeros(like.shape, dy.dtype)
    dx[_window(start, stop, step, dx.ndim)] = dy
    return dx


def _update(x: ndarray, update: ndarray, start: Ints, stop: Ints, step: Ints) -> ndarray:
    y = np.array(x)
    y[_window(start, stop, step, x.ndim)] = update
    return y


def _infer_slice(descs: Descs, attrs: Attrs) -> Descs:
    window = _window(attrs["start"], attrs["stop"], attrs["step"], descs[0].ndim)
    sizes = [-1 if n == -1 else len(range(*part.indices(n))) for n, part in zip(descs[0].shape, window)]
    return [TensorDesc(tuple(sizes), descs[0].dtype)]


def _slice_rule(applied: Any, dout: Value) -> Value:
    return perform(SLICE_GRAD, dout, applied.inputs[0], **applied.attrs)


def _slice_update_rule(applied: Any, douts: Values) -> Values:
    picked = perform(SLICE, douts[0], **applied.attrs)
    blank = perform(SLICE_UPDATE, douts[0], zeros_like(picked), **applied.attrs)
    return blank, picked


SLICE = define(
    "slice", "x", "y", _read, infer=_infer_slice, attrs=_SLICE_ATTRS, grad=first_only(_slice_rule), view=True
)
SLICE_GRAD = define(
    "slice_grad",
    "dy =like",
    "dx",
    _write_zeros,
    infer=like(1),
    attrs=_SLICE_ATTRS,
    grad=lambda applied, douts: (perform(SLICE, douts[0], **applied.attrs), None),
)
SLICE_UPDATE = define(
    "slice_update", "x update", "y", _update, infer=unchanged, attrs=_SLICE_ATTRS, grad=_slice_update_rule
)
define(
    "logical_slice", "x", "y", _read, infer=_infer_slice, attrs=_SLICE_ATTRS, grad=first_only(_slice_rule), view=True
)


def slice(x: Value, axes: Ints, starts: Ints, ends: Ints, steps: Any = None) -> Value:
    """Return a part of ``x``: per axis named, every ``step``-th from ``start`` up to but excluding ``end``.

    Args:
        x: any shape.
        axes: which axes; the others stay whole.
        starts: one per axis; negative ones count from the end, those beyond it are clipped.
        ends: likewise.
        steps: one per axis, not 0; left out: 1.
    """
    ndim = ndim_of(x)
    start, stop, step = [0] * ndim, [2**63 - 1] * ndim, [1] * ndim
    for k, axis in enumerate(axes):
        at = normal_axis(axis, ndim, "slice")
        start[at], stop[at] = int(starts[k]), int(ends[k])
        step[at] = 1 if steps is None else int(steps[k])
    return local.mode.apply(SLICE, (x,), {"start": tuple(start), "stop": tuple(stop), "step": tuple(step)})


# ---- pad -------------------------------------------------------------------------------------------------------------
_PAD_ATTRS = (
    "padding_before:vector<int64> padding_after:vector<int64>"
    " floating_constant_value:double integral_constant_value:int64"
)


def _inner(before: Ints, after: Ints, shape: Ints) -> tuple[Any, ...]:
    return tuple(_slice(b, size - a) for b, a, size in zip(before, after, shape))


def _pad(
    x: ndarray,
    padding_before: Ints,
    padding_after: Ints,
    floating_constant_value: float,
    integral_constant_value: int,
    out: Out = None,
) -> ndarray:
    if out is None:
        out = np.empty([b + n + a for b, n, a in zip(padding_before, x.shape, padding_after)], x.dtype)
    out.fill(floating_constant_value if x.dtype.kind in "fc" else integral_constant_value)
    out[_inner(padding_before, padding_after, out.shape)] = x
    return out


def _pad_slope(dy: ndarray, padding_before: Ints, padding_after: Ints, **_: Any) -> Any:
    return dy[_inner(padding_before, padding_after, dy.shape)]


def _infer_pad(sign: int) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        before, after, shape = attrs["padding_before"], attrs["padding_after"], descs[0].shape
        if not len(before) == len(after) == len(shape) or min((*before, *after, 0)) < 0:
            raise shape_error("pad", descs, f"paddings {tuple(before)} and {tuple(after)} need one entry per axis")
        sizes = tuple(-1 if n == -1 else n + sign * (b + a) for b, n, a in zip(before, shape, after))
        return [TensorDesc(sizes, descs[0].dtype)]

    return infer


def _zero_filled(attrs: Attrs) -> Attrs:
    return {**attrs, "floating_constant_value": 0.0, "integral_constant_value": 0}


PAD = define(
    "pad",
    "x",
    "y",
    _pad,
    infer=_infer_pad(1),
    attrs=_PAD_ATTRS,
    grad=first_only(lambda applied, dout: perform(PAD_GRAD, dout, **_zero_filled(applied.attrs))),
    out=_pad,
    silent=True,
)
PAD_GRAD: OpDef = define(
    "pad_grad",
    "dy",
    "dx",
    _pad_slope,
    infer=_infer_pad(-1),
    attrs=_PAD_ATTRS,
    grad=first_only(lambda applied, dout: perform(PAD, dout, **_zero_filled(applied.attrs))),
    view=True,
)


def pad(x: Value, before: Ints, after: Ints, value: float = 0.0, mode: str = "constant") -> Value:
    """Return ``x`` with elements added before and after, per axis.

    Args:
        x: any shape.
        before: how many, one per axis.
        after: likewise.
        value: what is added in constant mode.
        mode: "constant", "reflect", "replicate" or "circular" (the last three need known sizes).

    Raises:
        ShapeError: the mode is unknown, or reflects more than there is.
    """
    if mode == "constant":
        attrs = {
            "padding_before": tuple(before),
            "padding_after": tuple(after),
            "floating_constant_value": float(value),
            "integral_constant_value": int(value),
        }
        return local.mode.apply(PAD, (x,), attrs)
    if mode not in _PAD_MODES:
        raise ShapeError(f"op 'pad': mode {mode!r} is not one of constant, {', '.join(_PAD_MODES)}")
    attrs = {"padding_before": tuple(before), "padding_after": tuple(after), "mode": mode}
    return local.mode.apply(PAD_MODE, (x,), attrs)


#: Name of a mode -> numpy's.
_PAD_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def padded_index(size: int, first: int, last: int, mode: str) -> ndarray:
    """Return, for each place of the padded axis, the place of the axis that it repeats."""
    if mode == "reflect" and max(first, last) >= size:
        raise ShapeError(f"op 'pad': cannot reflect {max(first, last)} elements of an axis of size {size}")
    index: ndarray = np.pad(np.arange(size), (first, last), mode=_PAD_MODES[mode])  # type: ignore[call-overload]
    return index


def _pad_mode(x: ndarray, padding_before: Ints, padding_after: Ints, mode: str) -> ndarray:
    for axis, (first, last) in enumerate(zip(padding_before, padding_after)):
        if first or last:
            x = np.take(x, padded_index(x.shape[axis], first, last, mode), axis)
    return x.copy() if not any((*padding_before, *padding_after)) else x


def _pad_mode_slope(dy: ndarray, padding_before: Ints, padding_after: Ints, mode: str) -> ndarray:
    for axis, (first, last) in enumerate(zip(padding_before, padding_after)):
        if first or last:
            size = dy.shape[axis] - first - last
            rows = np.moveaxis(dy, axis, 0)
            total = np.zeros((size, *rows.shape[1:]), dy.dtype)
            add_rows(total, rows, padded_index(size, first, last, mode))
            dy = np.moveaxis(total, 0, axis)
    return dy.copy() if not any((*padding_before, *padding_after)) else dy


_MODE_ATTRS = "padding_before:vector<int64> padding_after:vector<int64> mode:string"
PAD_MODE = define(
    "pad_mode",
    "x",
    "y",
    _pad_mode,
    infer=_infer_pad(1),
    attrs=_MODE_ATTRS,
    grad=first_only(lambda applied, dout: perform(PAD_MODE_GRAD, dout, **applied.attrs)),
)
PAD_MODE_GRAD: OpDef = define(
    "pad_mode_grad",
    "dy",
    "dx",
    _pad_mode_slope,
    infer=_infer_pad(-1),
    attrs=_MODE_ATTRS,
    grad=first_only(lambda applied, dout: perform(PAD_MODE, dout, **applied.attrs)),
)
