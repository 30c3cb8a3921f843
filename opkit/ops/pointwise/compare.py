"""Comparisons, logic, maximum and minimum, where, clip: ops that choose between values.

Arithmetic is in ``opkit.ops.basis.arithmetic``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.basis.arithmetic import met, mul, paired
from opkit.ops.basis.broadcasting import fitted, sum_to
from opkit.ops.basis.creation import as_value, cast_like
from opkit.ops.core.define import NO_ATTRS, define, first_only, named, quiet
from opkit.ops.core.inference import broadcast_shape, broadcasted, check_same_dtype, dtype_error, same_shape, unchanged
from opkit.ops.core.meeting import Choose, is_number, strictly
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import Kept, OpDef
from opkit.ops.core.types import Attrs, Descs, Function, Out, Values
from opkit.ops.core.value import Value
from opkit.ops.kernels.small import ZERO, clipped


# ---- comparisons: bool, no gradient ----------------------------------------------------------------------------------
def _comparison(name: str, kernel: Function) -> OpDef:
    kernel = quiet(kernel)
    infer = broadcasted(name, dtype="bool")
    return define(name, "x y", "z", kernel, infer=infer, out=kernel, elementwise=True)


_COMPARISONS: dict[str, tuple[OpDef, str]] = {
    name: (_comparison(f"broadcast_{name}", kernel), f"a bool tensor: {text}, element by element")
    for name, kernel, text in (
        ("equal", np.equal, "x == y"),
        ("not_equal", np.not_equal, "x != y"),
        ("less", np.less, "x < y"),
        ("less_equal", np.less_equal, "x <= y"),
        ("greater", np.greater, "x > y"),
        ("greater_equal", np.greater_equal, "x >= y"),
        ("logical_and", np.logical_and, "x and y"),
        ("logical_or", np.logical_or, "x or y"),
        ("logical_xor", np.logical_xor, "x or y, not both"),
    )
}


def comparisons(choose: Choose) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the builders of comparisons and logic of two operands, by name."""
    return named({name: paired(opdef, choose, text) for name, (opdef, text) in _COMPARISONS.items()})


equal, not_equal, less, less_equal, greater, greater_equal, logical_and, logical_or, logical_xor = comparisons(
    strictly
).values()


def _test(name: str, kernel: Function, text: str) -> Callable[[Any], Any]:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        return [TensorDesc(descs[0].shape, "bool")]

    opdef = define(name, "x", "y", kernel, infer=infer, out=kernel, elementwise=True)

    def build(x: Any) -> Value:
        return local.mode.apply(opdef, (as_value(x),), NO_ATTRS)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Return a bool tensor: {text}, element by element."
    return build


logical_not = _test("logical_not", np.logical_not, "not x")
isnan = _test("isnan", np.isnan, "x is NaN")
isinf = _test("isinf", np.isinf, "x is infinite")
isfinite = _test("isfinite", np.isfinite, "x is neither NaN nor infinite")


# ---- maximum, minimum: where both are equal, the gradient goes to y ------------------------------------------------
def _choice(name: str, kernel: Function, is_first: Callable[[Any, Any], Any]) -> OpDef:
    def rule(applied: Any, douts: Values) -> Values:
        x, y = applied.inputs
        need_x, need_y = applied.needs
        first = is_first(x, y)
        dx = mul(douts[0], cast_like(first, douts[0])) if need_x else None
        dy = mul(douts[0], cast_like(logical_not(first), douts[0])) if need_y else None
        return None if dx is None else sum_to(dx, x, y), None if dy is None else sum_to(dy, y, x)

    def grad_kernel(kept: Kept, dy: ndarray) -> Values:
        x, y = kept.array(0), kept.array(1)
        need_x, need_y = kept.needs
        first = larger(x, y)
        return fitted(dy * first, x) if need_x else None, fitted(dy * ~first, y) if need_y else None

    larger = np.greater if kernel is np.maximum else np.less
    rules: dict[str, Any] = {"grad": rule, "grad_kernel": grad_kernel, "reads": "x y"}
    return define(name, "x y", "z", kernel, infer=broadcasted(name), out=kernel, elementwise=True, **rules)


BROADCAST_MAXIMUM = _choice("broadcast_maximum", np.maximum, greater)
BROADCAST_MINIMUM = _choice("broadcast_minimum", np.minimum, less)


# ---- where -----------------------------------------------------------------------------------------------------------
def _where(condition: ndarray, x: ndarray, y: ndarray, out: Out = None) -> ndarray:
    if out is None:
        return np.where(condition, x, y)
    np.copyto(out, y)
    np.copyto(out, x, where=condition.astype(bool, copy=False))
    return out


def _infer_where(descs: Descs, attrs: Attrs) -> Descs:
    condition, x, y = descs
    check_same_dtype("where", [x, y])
    if condition.dtype not in ("bool", "int8", "uint8", "int32", "int64"):
        raise dtype_error("where", descs, "the condition must be bool or integer")
    return [TensorDesc(broadcast_shape("where", descs), x.dtype)]


def _where_grad(applied: Any, douts: Values) -> Values:
    condition, x, y = applied.inputs
    _, need_x, need_y = applied.needs
    dx = sum_to(where(condition, douts[0], 0), x) if need_x else None
    return None, dx, sum_to(where(condition, 0, douts[0]), y) if need_y else None


def _where_kernel(kept: Kept, dy: ndarray) -> Values:
    condition, zero = kept.array(0), ZERO[dy.dtype]
    _, need_x, need_y = kept.needs
    return (
        None,
        fitted(np.where(condition, dy, zero), kept.array(1)) if need_x else None,
        fitted(np.where(condition, zero, dy), kept.array(2)) if need_y else None,
    )


WHERE = define(
    "where",
    "condition x y",
    "out",
    _where,
    infer=_infer_where,
    grad=_where_grad,
    grad_kernel=_where_kernel,
    reads="condition",
    out=_where,
    elementwise=True,
)


def _choosing(choose: Choose) -> Callable[[Any, Any, Any], Any]:
    def where(condition: Value, x: Any, y: Any) -> Value:
        """Return ``x`` where the condition holds, else ``y``; all three broadcast, numbers take the other's dtype."""
        if is_number(x) and is_number(y):
            kind = float if isinstance(x, (float, np.floating)) or isinstance(y, (float, np.floating)) else int
            x = as_value(kind(x))
        left, right = met("where", x, y, choose(x, y))
        return local.mode.apply(WHERE, (as_value(condition), left, right), NO_ATTRS)

    return where


_OF_BOTH = "the {} (NaN wins; where equal, the gradient is y's), element by element"


def choices(choose: Choose) -> dict[str, Function]:
    """Return the builders that choose between operands and depend on a dialect, by name."""
    return named(
        {
            "maximum": paired(BROADCAST_MAXIMUM, choose, _OF_BOTH.format("larger")),
            "minimum": paired(BROADCAST_MINIMUM, choose, _OF_BOTH.format("smaller")),
            "where": _choosing(choose),
        }
    )


maximum, minimum, where = choices(strictly).values()


# ---- clip ------------------------------------------------------------------------------------------------------------
def _clipped(x: ndarray, low: Any, high: Any, out: ndarray | None) -> Any:
    if low is None:
        return np.minimum(x, high, out=out)
    if high is None:
        return np.maximum(x, low, out=out)
    return clipped(x, low, high, out)


def _whole_bounds(dtype: np.dtype, low: float, high: float) -> tuple[int, int]:
    """Return the least and the largest integer of a dtype that lie within bounds, which may be infinite."""
    info = np.iinfo(dtype)
    least = info.min if low <= info.min else info.max if low >= info.max else math.ceil(low)
    largest = info.max if high >= info.max else info.min if high <= info.min else math.floor(high)
    return least, largest


def _clip_inside(x: ndarray, min: float, max: float, out: Out = None) -> Any:
    low, high = (min, max) if x.dtype.kind in "fc" else _whole_bounds(x.dtype, min, max)
    return clipped(x, low, high, out)


def _clip_inside_grad(applied: Any, dout: Value) -> Value:
    x, low, high = applied.inputs[0], applied.attrs["min"], applied.attrs["max"]
    inside = logical_and(greater(x, low), less(x, high))
    return where(inside, dout, 0)


def _clip_inside_kernel(kept: Kept, dy: ndarray) -> Values:
    x, attrs = kept.array(0), kept.attrs
    return (np.where((x > attrs["min"]) & (x < attrs["max"]), dy, ZERO[dy.dtype]),)


#: The gradient passes strictly between the bounds only.
CLIP_INSIDE = define(
    "clip",
    "x",
    "y",
    _clip_inside,
    infer=unchanged,
    attrs="min:double max:double",
    defaults={"min": -np.inf, "max": np.inf},
    grad=first_only(_clip_inside_grad),
    grad_kernel=_clip_inside_kernel,
    reads="x",
    out=_clip_inside,
    elementwise=True,
)


def clip_inside(x: Value, min: float | None = None, max: float | None = None) -> Value:
    """Return ``x`` clipped to the range from ``min`` to ``max``; the gradient at the bounds is 0."""
    attrs = {"min": -math.inf if min is None else float(min), "max": math.inf if max is None else float(max)}
    return local.mode.apply(CLIP_INSIDE, (as_value(x),), attrs)


def clip(x: Value, min: float | None = None, max: float | None = None) -> Value:
    """Return ``x`` clipped to the range from ``min`` to ``max``; at the bounds the gradient passes."""
    x = as_value(x)
    low, high = -math.inf if min is None else float(min), math.inf if max is None else float(max)
    dtype = x._data.dtype
    least, largest = (0, 0) if dtype.kind in "fc" else _whole_bounds(dtype, low, high)
    attrs = {"floating_min": low, "integral_min": least, "floating_max": high, "integral_max": largest}
    return local.mode.apply(CLIP_BY_SCALAR, (x,), attrs)


# ---- the clip_by_scalar family: at the bounds the gradient passes ----------------------------------------------------
def _bounds(x: ndarray, attrs: Attrs) -> tuple[Any, Any]:
    kind = "floating" if x.dtype.kind in "fc" else "integral"
    return attrs.get(f"{kind}_min"), attrs.get(f"{kind}_max")


def _clip_by_scalar(x: ndarray, out: Out = None, **attrs: Any) -> Any:
    low, high = _bounds(x, attrs)
    return _clipped(x, low, high, out)


def _clip_by_scalar_slope(dy: ndarray, x: ndarray, **attrs: Any) -> ndarray:
    low, high = _bounds(x, attrs)
    keep = np.ones(x.shape, bool) if low is None else x >= low
    return np.where(keep if high is None else keep & (x <= high), dy, dy.dtype.type(0))


def _define_clip_by(suffix: str, attrs: str) -> OpDef:
    name = "clip_by_scalar" + suffix

    def slope_grad(applied: Any, douts: Values) -> Values:
        return perform(slope, douts[0], applied.inputs[1], **applied.attrs), None

    slope = define(
        name + "_grad",
        "dy x",
        "dx",
        _clip_by_scalar_slope,
        infer=same_shape(name + "_grad"),
        attrs=attrs,
        grad=slope_grad,
        reads="x",
        elementwise=True,
    )

    def rule(applied: Any, dout: Value) -> Value:
        return perform(slope, dout, applied.inputs[0], **applied.attrs)

    return define(
        name,
        "x",
        "y",
        _clip_by_scalar,
        infer=unchanged,
        attrs=attrs,
        grad=first_only(rule),
        grad_kernel=lambda kept, dy: (_clip_by_scalar_slope(dy, kept.array(0), **kept.attrs),),
        reads="x",
        out=_clip_by_scalar,
        elementwise=True,
    )


CLIP_BY_SCALAR = _define_clip_by("", "floating_min:double integral_min:int64 floating_max:double integral_max:int64")
_define_clip_by("_min", "floating_min:double integral_min:int64")
_define_clip_by("_max", "floating_max:double integral_max:int64")
