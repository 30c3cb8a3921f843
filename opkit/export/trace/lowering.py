"""numpy's functions that are made of others: each as the simpler calls that a trace notes instead.

``xp`` is the noting numpy. Only definitions that hold for all shapes and dtypes stand here; results are numpy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opkit.export.trace.arrangement import ARRANGED
from opkit.export.trace.graph import Scalar, UntraceableError
from opkit.export.trace.symbols import Symbol, scalar_of


def _along(before: list[Any], part: Any) -> tuple[Any, ...]:
    """Return the index that takes a part of one axis and all of those before it."""
    return (*before, part)


def _select(xp: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    result = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist))):
        result = xp.where(condition, choice, result)
    return result


def _bincount(xp: Any, x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    if not isinstance(minlength, (int, Symbol)) or (isinstance(minlength, int) and minlength == 0):
        raise UntraceableError("counts without minlength=, so that its result's size depends on values")
    kind = np.int64 if weights is None else np.float64
    counts = xp.zeros(minlength, dtype=kind)
    xp.add.at(counts, x, 1 if weights is None else weights)
    return counts


def _tri(xp: Any, n: Any, m: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    return xp.tril(xp.ones((n, n if m is None else m), dtype=dtype), k)


def _ptp(xp: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return xp.max(a, axis=axis, keepdims=keepdims) - xp.min(a, axis=axis, keepdims=keepdims)


def _average(xp: Any, a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return xp.mean(a, axis=axis, keepdims=keepdims)
    if np.ndim(weights) != np.ndim(a) and isinstance(axis, int):
        weights = xp.reshape(weights, [-1 if place == axis % a.ndim else 1 for place in range(a.ndim)])
    weights = xp.broadcast_to(weights, a.shape)
    total = xp.sum(weights, axis=axis, keepdims=keepdims)
    return xp.sum(xp.multiply(a, weights), axis=axis, keepdims=keepdims) / total


def _median(xp: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None:
        if keepdims:
            raise UntraceableError("calls np.median with keepdims= and without axis=")
        a, axis = a.reshape(-1), 0
    size = a.shape[axis]
    ordered = xp.sort(a, axis=axis)
    middle = (xp.take(ordered, (size - 1) // 2, axis=axis) + xp.take(ordered, size // 2, axis=axis)) / 2
    # numpy's median is NaN where any element is; sorting puts these last.
    last = xp.take(ordered, size - 1, axis=axis)
    found = xp.where(xp.isnan(last), last, middle) if a.dtype.kind == "f" else middle
    return xp.expand_dims(found, axis) if keepdims else found


def _as_strided(xp: Any, x: Any, shape: Any, strides: Any) -> Any:
    """Write the windows as an index: a step is a multiple of a stride of the array."""
    places: list[Any] = [0] * x.ndim
    for axis, (size, stride) in enumerate(zip(shape, strides)):
        source, factor = _stride(scalar_of(stride))
        if source is not None:
            steps = xp.reshape(xp.arange(size), [-1 if place == axis else 1 for place in range(len(shape))])
            places[source] = places[source] + steps * factor
    free = [place for place, item in enumerate(places) if isinstance(item, int)]
    if free:
        for place in free:
            places[place] = xp.zeros([1] * len(shape), dtype=np.int64)
    found = x[tuple(places)]
    return xp.broadcast_to(found, tuple(shape))


def _stride(scalar: Scalar) -> tuple[int | None, Any]:
    if scalar.kind == "stride":
        return scalar.args[1], 1
    if scalar.kind == "const" and scalar.value == 0:
        return None, 0
    if scalar.kind == "binary" and scalar.args[0] == "*":
        for one, other in (scalar.args[1:], scalar.args[:0:-1]):
            axis, factor = _stride(one)
            if axis is not None:
                return axis, Symbol(other) * factor
    raise UntraceableError("calls as_strided with strides that are not multiples of the array's own")


def _copyto(xp: Any, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is True:
        dst[...] = src
    else:
        dst.assign(xp.where(where, src, dst))


def _putmask(xp: Any, a: Any, mask: Any, values: Any) -> None:
    node = getattr(values, "node", None)
    if np.ndim(values if node is None else node.value) and np.shape(node.value) != np.shape(a.node.value):  # type: ignore[union-attr]
        raise UntraceableError("calls np.putmask with values of another shape")
    a.assign(xp.where(mask, values, a))


def _stacked(axis: int) -> Callable[..., Any]:
    def stack(xp: Any, tup: Any) -> Any:
        items = [xp.expand_dims(item, 1) if item.ndim == 1 and axis == 1 else item for item in tup]
        return xp.concatenate([_three(xp, item) for item in items] if axis == 2 else items, axis=axis)

    return stack


def _three(xp: Any, item: Any) -> Any:
    if item.ndim == 1:
        return item[None, :, None]
    return item[:, :, None] if item.ndim == 2 else item


def _kron(xp: Any, a: Any, b: Any) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        raise UntraceableError("calls np.kron on arrays that are not matrices")
    made = a[:, None, :, None] * b[None, :, None, :]
    return made.reshape((a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))


def _cross(xp: Any, a: Any, b: Any) -> Any:
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return xp.stack(parts, axis=-1)


def _convolve(xp: Any, a: Any, v: Any, mode: str = "full") -> Any:
    size, width = a.shape[0], v.shape[0]
    if mode == "full":
        a, size = xp.pad(a, (width - 1, width - 1)), size + width - 1
    elif mode == "valid":
        size = size - width + 1
    else:
        raise UntraceableError(f"calls np.convolve in the mode {mode!r}")
    places = xp.arange(size)[:, None] + xp.arange(width)
    return a[places] @ xp.flip(v, 0)


def _nan(name: str) -> Callable[..., Any]:
    def reduce(xp: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        there = ~xp.isnan(a)
        if name in ("max", "min"):
            worst = -np.inf if name == "max" else np.inf
            found = getattr(xp, name)(xp.where(there, a, worst), axis=axis, keepdims=keepdims)
            return xp.where(xp.any(there, axis=axis, keepdims=keepdims), found, np.nan)
        total = xp.sum(xp.where(there, a, 0), axis=axis, keepdims=keepdims)
        return total if name == "sum" else total / xp.sum(there, axis=axis, keepdims=keepdims).astype(a.dtype)

    return reduce


def _isclose(xp: Any, a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    return (xp.abs(a - b) <= atol + rtol * xp.abs(b)) | (a == b)


def _rot90(xp: Any, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    if k % 4 == 0:
        return m.copy()
    if k % 4 == 2:
        return xp.flip(m, tuple(axes))
    if k % 4 == 1:
        return xp.swapaxes(xp.flip(m, axes[1]), *axes)
    return xp.flip(xp.swapaxes(m, *axes), axes[1])


def _atleast(rank: int) -> Callable[..., Any]:
    def widen(xp: Any, item: Any) -> Any:
        if item.ndim >= rank:
            return item
        if rank == 2:
            return item[None, None] if item.ndim == 0 else item[None]
        return xp.reshape(item, (1,))

    return widen


def _fill_diagonal(xp: Any, a: Any, val: Any) -> None:
    if a.ndim != 2:
        raise UntraceableError("fills the diagonal of more than two axes")
    size = xp.minimum(a.shape[0], a.shape[1])
    places = xp.arange(size)
    a[places, places] = val


def _ascontiguous(xp: Any, a: Any, dtype: Any = None) -> Any:
    made = xp.asarray(a) if dtype is None else xp.asarray(a, dtype=dtype)
    return made if made.ndim else made.reshape(1)


def _linalg_norm(xp: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    is_vector = isinstance(axis, (int, Symbol)) or (axis is None and x.ndim == 1)
    if ord is None or (isinstance(ord, (int, float)) and ord == 2 and is_vector):
        return xp.sqrt(xp.sum(xp.square(xp.abs(x)), axis=axis, keepdims=keepdims))
    if not is_vector or not isinstance(ord, (int, float)):
        raise UntraceableError("takes a norm whose order is known only at the call, or a matrix norm")
    if ord in (np.inf, -np.inf):
        return getattr(xp, "max" if ord > 0 else "min")(xp.abs(x), axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(xp.abs(x), axis=axis, keepdims=keepdims)
    return xp.sum(xp.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def _delete(xp: Any, arr: Any, obj: Any, axis: Any = None) -> Any:
    if not isinstance(obj, (int, Symbol)) or not isinstance(axis, int):
        raise UntraceableError("deletes other than one place along a known axis")
    place = obj + arr.shape[axis] if isinstance(obj, int) and obj < 0 else obj
    before: list[Any] = [slice(None)] * (axis % arr.ndim)
    return xp.concatenate(
        [arr[_along(before, slice(None, place))], arr[_along(before, slice(place + 1, None))]], axis=axis
    )


def _insert(xp: Any, arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if not isinstance(obj, (int, Symbol)) or not isinstance(axis, int):
        raise UntraceableError("inserts at other than one place along a known axis")
    before: list[Any] = [slice(None)] * (axis % arr.ndim)
    sizes = [1 if place == axis % arr.ndim else arr.shape[place] for place in range(arr.ndim)]
    if not hasattr(values, "node"):
        values = xp.full(sizes, values, dtype=arr.dtype)
    elif values.ndim < arr.ndim:
        values = xp.expand_dims(values, axis)
    parts = [arr[_along(before, slice(None, obj))], values.astype(arr.dtype), arr[_along(before, slice(obj, None))]]
    return xp.concatenate(parts, axis=axis)


def _trace(xp: Any, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    return xp.sum(xp.diagonal(a, offset, axis1, axis2), axis=-1)


def _gradient(xp: Any, f: Any, *spacing: Any, axis: Any = None) -> Any:
    if len(spacing) > 1 or (axis is None and f.ndim != 1) or not isinstance(axis, (int, type(None))):
        raise UntraceableError("calls np.gradient with several spacings or axes")
    step, at = (spacing or (1,))[0], (axis or 0) % f.ndim
    before: list[Any] = [slice(None)] * at

    def part(start: Any, stop: Any) -> Any:
        return f[_along(before, slice(start, stop))]

    inner = (part(2, None) - part(None, -2)) / (2 * step)
    ends = (part(1, 2) - part(0, 1)) / step, (part(-1, None) - part(-2, -1)) / step
    return xp.concatenate([ends[0], inner, ends[1]], axis=at)


def _trapezoid(xp: Any, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    before: list[Any] = [slice(None)] * (axis % y.ndim)
    step = dx if x is None else xp.diff(x, axis=axis if x.ndim > 1 else -1)
    pair = y[_along(before, slice(1, None))] + y[_along(before, slice(None, -1))]
    return xp.sum(step * pair / 2.0, axis=axis)


#: {numpy's name: function of (xp, its arguments)}.
LOWERED: Mapping[str, Callable[..., Any]] = {
    "select": _select,
    "delete": _delete,
    "insert": _insert,
    "trace": _trace,
    "gradient": _gradient,
    "trapezoid": _trapezoid,
    "bincount": _bincount,
    "tri": _tri,
    "ptp": _ptp,
    "average": _average,
    "median": _median,
    "as_strided": _as_strided,
    "copyto": _copyto,
    "putmask": _putmask,
    "column_stack": _stacked(1),
    "dstack": _stacked(2),
    "kron": _kron,
    "cross": _cross,
    "convolve": _convolve,
    "nansum": _nan("sum"),
    "nanmean": _nan("mean"),
    "nanmax": _nan("max"),
    "nanmin": _nan("min"),
    "isclose": _isclose,
    "rot90": _rot90,
    "atleast_1d": _atleast(1),
    "atleast_2d": _atleast(2),
    "fill_diagonal": _fill_diagonal,
    "ascontiguousarray": _ascontiguous,
    "linalg.norm": _linalg_norm,
    **ARRANGED,
}
