"""The largest of windows that divide the axes into parts, with the places where it stands.

Windows of given sizes, and means and maxima without places, are in ``opkit.ops.network.pool``.

max_unpool: elements put back where a maximum pool found them.

Where it found them is ``opkit.ops.network.pool``'s to say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.arrange.scattering import put_along_axis, take_along_axis
from opkit.ops.arrange.shape import reshape
from opkit.ops.basis.creation import cast, constant
from opkit.ops.core.define import define
from opkit.ops.core.inference import shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Attrs, Descs, Ints
from opkit.ops.core.value import Value, shape_of


def _places(x: ndarray, counts: Ints) -> ndarray:
    sizes = x.shape[2:]
    every: tuple[slice | int, ...] = (slice(None), slice(None))
    found = np.empty((*x.shape[:2], *counts), np.int32)
    for cell in product(*map(range, counts)):
        starts = [i * size // n for i, size, n in zip(cell, sizes, counts)]
        ends = [-(-(i + 1) * size // n) for i, size, n in zip(cell, sizes, counts)]
        window = x[every + tuple(map(slice, starts, ends))]
        inside = window.reshape(*x.shape[:2], -1).argmax(-1)
        spots = np.unravel_index(inside, window.shape[2:])
        whole = tuple(spot + start for spot, start in zip(spots, starts))
        found[every + cell] = np.ravel_multi_index(whole, sizes)
    return found


def _infer(descs: Descs, attrs: Attrs) -> Descs:
    x, counts = descs[0], attrs["counts"]
    if x.ndim != len(counts) + 2 or -1 in x.shape[2:] or min((*counts, *x.shape[2:])) < 1:
        raise shape_error(
            "adaptive_max_pool_places", descs, f"it takes (N, C, sizes...) with {len(counts)} known sizes of at least 1"
        )
    return [TensorDesc((*x.shape[:2], *counts), "int32")]


PLACES = define("adaptive_max_pool_places", "x", "places", _places, infer=_infer, attrs="counts:vector<int32>")


def adaptive_max_pool(x: Value, counts: Sequence[int | None]) -> tuple[Value, Value]:
    """Return the largest of each window and where it stands: int32 numbers, the last axis counting fastest.

    Window i of n over an axis of size s is ``[i * s // n, ceil((i + 1) * s / n))``; of several equal elements of a
    window the first counts.

    Args:
        x: ``(N, C, sizes...)``.
        counts: number of windows per size; None keeps the axis.
    """
    batch, channels, *sizes = shape_of(x)
    parts = [size if count is None else int(count) for count, size in zip(counts, sizes)]
    places = perform(PLACES, x, counts=parts)
    flat = [reshape(item, (batch, channels, -1)) for item in (x, cast(places, "int64"))]
    return reshape(take_along_axis(flat[0], flat[1], 2), (batch, channels, *parts)), places


def max_unpool(x: Value, places: Value, sizes: Ints) -> Value:
    """Return zeros with the elements of ``x`` put where ``max_pool_places`` found them.

    Args:
        x: ``(N, C, ...)``.
        places: of x's shape, integers; of several values for one place the last counts.
        sizes: the spatial sizes of the result, ``(N, C, sizes...)``.
    """
    batch, channels = shape_of(x)[:2]
    blank = constant(0, (batch, channels, math.prod(sizes)), x._data.dtype.name)
    flat = [reshape(item, (batch, channels, -1)) for item in (places, x)]
    return reshape(put_along_axis(blank, flat[0], flat[1], 2), (batch, channels, *sizes))
