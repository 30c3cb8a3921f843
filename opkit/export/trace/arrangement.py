"""numpy's functions that make grids, look values up and count them out, each as the simpler calls that a trace notes.

``xp`` is the noting numpy. Only definitions that hold for all shapes and dtypes stand here; results are numpy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opkit.export.trace.graph import UntraceableError


def _grids(xp: Any, items: Any) -> list[Any]:
    """Return each list of places along an axis of its own."""
    count = len(items)
    return [xp.reshape(item, [-1 if at == place else 1 for at in range(count)]) for place, item in enumerate(items)]


def _ix(xp: Any, *arrays: Any) -> Any:
    return tuple(_grids(xp, arrays))


def _indices(xp: Any, dimensions: Any, dtype: Any = np.int64, sparse: bool = False) -> Any:
    sizes = tuple(dimensions)
    grids = _grids(xp, [xp.arange(size, dtype=dtype) for size in sizes])
    if sparse:
        return tuple(grids)
    return xp.stack([xp.broadcast_to(grid, sizes) for grid in grids])


def _meshgrid(xp: Any, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    grids, sizes = _grids(xp, xi), [item.shape[0] for item in xi]
    if indexing == "xy" and len(xi) > 1:
        grids, sizes = [xp.swapaxes(grid, 0, 1) for grid in grids], [sizes[1], sizes[0], *sizes[2:]]
    return tuple(grids) if sparse else tuple(xp.broadcast_to(grid, tuple(sizes)) for grid in grids)


def _vander(xp: Any, x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    size = x.shape[0] if N is None else N
    powers = xp.arange(size) if increasing else xp.arange(size - 1, -1, -1)
    return x[:, None] ** powers


def _polyval(xp: Any, p: Any, x: Any) -> Any:
    found = xp.zeros_like(x)
    for coefficient in p:
        found = found * x + coefficient
    return found


def _append(xp: Any, arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return xp.concatenate([xp.ravel(arr), xp.ravel(values)])
    return xp.concatenate([arr, values], axis=axis)


def _split_along(axis: int) -> Callable[..., Any]:
    def split(xp: Any, ary: Any, indices_or_sections: Any) -> Any:
        return xp.split(ary, indices_or_sections, axis=0 if axis == 1 and ary.ndim == 1 else axis)

    return split


def _rollaxis(xp: Any, a: Any, axis: int, start: int = 0) -> Any:
    source, target = axis % a.ndim, start + a.ndim if start < 0 else start
    return xp.moveaxis(a, source, target - 1 if source < target else target)


def _permute_dims(xp: Any, a: Any, axes: Any = None) -> Any:
    return xp.transpose(a) if axes is None else xp.transpose(a, axes)


def _vecdot(xp: Any, x1: Any, x2: Any, axis: int = -1) -> Any:
    return xp.sum(x1 * x2, axis=axis)


def _digitize(xp: Any, x: Any, bins: Any, right: bool = False) -> Any:
    ordered = getattr(bins, "node", None)
    if np.any(np.diff(bins if ordered is None else ordered.value) < 0):
        raise UntraceableError("calls np.digitize with bins that decrease")
    return xp.searchsorted(bins, x, side="left" if right else "right")


def _interp(xp: Any, x: Any, xs: Any, ys: Any) -> Any:
    size = xs.shape[0]
    upper = xp.clip(xp.searchsorted(xs, x, side="right"), 1, size - 1)
    lower = upper - 1
    slope = (ys[upper] - ys[lower]) / (xs[upper] - xs[lower])
    inner = ys[lower] + slope * (x - xs[lower])
    return xp.where(x < xs[0], ys[0], xp.where(x > xs[size - 1], ys[size - 1], inner))


def _isin(xp: Any, element: Any, test_elements: Any, invert: bool = False) -> Any:
    found = xp.any(element[..., None] == xp.ravel(test_elements), axis=-1)
    return ~found if invert else found


def _correlate(xp: Any, a: Any, v: Any, mode: str = "valid") -> Any:
    return xp.convolve(a, xp.flip(v, 0), mode)


def _nan_moment(is_root: bool) -> Callable[..., Any]:
    def moment(xp: Any, a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
        there = ~xp.isnan(a)
        centred = xp.where(there, a - xp.nanmean(a, axis=axis, keepdims=True), 0)
        count = xp.sum(there, axis=axis, keepdims=keepdims).astype(a.dtype)
        found = xp.sum(centred * centred, axis=axis, keepdims=keepdims) / (count - ddof)
        return xp.sqrt(found) if is_root else found

    return moment


def _nanprod(xp: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return xp.prod(xp.where(xp.isnan(a), 1, a), axis=axis, keepdims=keepdims)


def _modf(xp: Any, x: Any) -> Any:
    whole = xp.trunc(x)
    return xp.where(xp.isinf(x), xp.copysign(0.0, x), x - whole), whole


#: {numpy's name: function of (xp, its arguments)}.
ARRANGED: Mapping[str, Callable[..., Any]] = {
    "indices": _indices,
    "ix_": _ix,
    "meshgrid": _meshgrid,
    "vander": _vander,
    "polyval": _polyval,
    "append": _append,
    "vsplit": _split_along(0),
    "hsplit": _split_along(1),
    "dsplit": _split_along(2),
    "ediff1d": lambda xp, ary: xp.diff(xp.ravel(ary)),
    "rollaxis": _rollaxis,
    "permute_dims": _permute_dims,
    "vecdot": _vecdot,
    "digitize": _digitize,
    "interp": _interp,
    "isin": _isin,
    "correlate": _correlate,
    "nanvar": _nan_moment(False),
    "nanstd": _nan_moment(True),
    "nancumsum": lambda xp, a, axis=None: xp.cumsum(xp.where(xp.isnan(a), 0, a), axis=axis),
    "nanprod": _nanprod,
    "fix": lambda xp, x: xp.trunc(x),
    "modf": _modf,
    "divmod": lambda xp, x1, x2: (x1 // x2, x1 % x2),
    "diagflat": lambda xp, v, k=0: xp.diag(xp.ravel(v), k),
}
