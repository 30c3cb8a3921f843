"""The k least or largest elements, where of several equal ones those count that C++'s standard library finds.

The order in which equal elements keep their places is in ``opkit.ops.arrange.sort``.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import TensorDesc
from opkit.ops.arrange.scattering import take_along_axis
from opkit.ops.arrange.shape import swapaxes
from opkit.ops.core.define import define
from opkit.ops.core.mode import perform
from opkit.ops.core.value import Value, ndim_of, normal_axis, shape_of
from opkit.ops.kernels.introselect import least_places, ranks_of


def _places(x: ndarray, k: int, largest: bool) -> ndarray:
    order = np.argsort(-x if largest and x.dtype.kind == "f" else x, axis=-1, kind="stable")
    if largest:
        order = _from_the_largest(x, order)
    places = order[..., :k].astype(np.int64)
    ordered = np.take_along_axis(x, order[..., : k + 1], -1)
    ties = ordered[..., 1:] == ordered[..., :-1]
    if x.dtype.kind == "f":
        ties |= np.isnan(ordered[..., 1:]) & np.isnan(ordered[..., :-1])
    for row in np.argwhere(ties.any(-1)):
        at = tuple(row)
        places[at] = least_places(ranks_of(x[at], largest=largest), k)
    return places


def _from_the_largest(x: ndarray, order: ndarray) -> ndarray:
    if x.dtype.kind != "f":
        return order[..., ::-1]
    # numpy puts NaN last; among the largest they come first.
    is_number = ~np.isnan(np.take_along_axis(x, order, -1))
    return np.take_along_axis(order, np.argsort(is_number, axis=-1, kind="stable"), -1)


PLACES = define(
    "selected_places",
    "x",
    "places",
    _places,
    infer=lambda descs, attrs: [TensorDesc((*descs[0].shape[:-1], attrs["k"]), "int64")],
    attrs="k:int32 largest:bool",
)


def selected(x: Value, k: int, axis: int = -1, largest: bool = False) -> tuple[Value, Value]:
    """Return the k least (or largest) along an axis, in order, and their places (int64); NaN count as the largest.

    Of equal elements those count that ``std::partial_sort``, or ``std::nth_element`` and ``std::sort``, find.

    Raises:
        ShapeError: the axis has fewer than k.
    """
    last = ndim_of(x) - 1
    at = normal_axis(axis, last + 1, "selected")
    size = shape_of(x)[at]
    if k < 1 or k > size != -1:
        raise ShapeError(f"op 'selected_places': k is {k} for an axis of size {size}")
    attrs = {"k": int(k), "largest": bool(largest)}
    if at == last:
        places = perform(PLACES, x, **attrs)
    else:
        places = swapaxes(perform(PLACES, swapaxes(x, at, last), **attrs), at, last)
    return take_along_axis(x, places, at), places
