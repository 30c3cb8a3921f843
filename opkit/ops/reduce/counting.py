"""Counting values: histograms, the number of each integer, the most frequent value; and functions of integers.

Sorting and positions are in ``opkit.ops.arrange.sort``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ir import TensorDesc, is_floating
from opkit.ops.core.define import define
from opkit.ops.core.inference import shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Attrs, Descs
from opkit.ops.core.value import Value, ndim_of, normal_axis


# ---- histogram -------------------------------------------------------------------------------------------------------
def _histogram(x: ndarray, bins: int, low: float, high: float) -> ndarray:
    flat = x.reshape(-1).astype(np.float64)
    if low == high == 0 and flat.size:
        low, high = float(flat.min()), float(flat.max())
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(flat, bins, (low, high))[0].astype(np.int64)


HISTOGRAM = define(
    "histogram",
    "x",
    "counts",
    _histogram,
    infer=lambda descs, attrs: [TensorDesc((attrs["bins"],), "int64")],
    attrs="bins:int64 low:double high:double",
)


def histogram(x: Value, bins: int = 100, low: float = 0, high: float = 0) -> Value:
    """Return how many elements fall into each of equal bins from low to high; both 0: from the least to the largest."""
    if bins < 1:
        raise UsageError(f"op 'histogram': there must be at least one bin, got {bins}")
    if high < low:
        raise UsageError(f"op 'histogram': the range from {low} to {high} is empty")
    return perform(HISTOGRAM, x, bins=int(bins), low=float(low), high=float(high))


# ---- bincount --------------------------------------------------------------------------------------------------------
def _bincount(x: ndarray, weights: ndarray | None, minlength: int) -> Any:
    if x.size and x.min() < 0:
        raise UsageError(f"op 'bincount': the integers must not be negative, got {x.min()}")
    counts = np.bincount(x, weights, minlength)
    if weights is None:
        return counts.astype(np.int64, copy=False)
    return counts.astype(weights.dtype if weights.dtype.kind == "f" else np.float64, copy=False)


def _infer_bincount(descs: Sequence[TensorDesc | None], attrs: Attrs) -> Descs:
    x, weights = descs
    if x is None or x.ndim != 1 or x.dtype not in ("int32", "int64", "int16", "int8", "uint8"):
        raise shape_error("bincount", descs, "it takes a vector of integers")
    if weights is None:
        return [TensorDesc((-1,), "int64")]
    return [TensorDesc((-1,), weights.dtype if is_floating(weights.dtype) else "float64")]


BINCOUNT = define("bincount", "x ?weights", "counts", _bincount, infer=_infer_bincount, attrs="minlength:int64")


def bincount(x: Value, weights: Value | None = None, minlength: int = 0) -> Value:
    """Return how often each integer from 0 up occurs, or the sum of its weights."""
    return perform(BINCOUNT, x, weights, minlength=int(minlength))


# ---- mode ------------------------------------------------------------------------------------------------------------
def _mode_place(row: ndarray) -> int:
    """Return the last position of the most frequent value; of equally frequent ones, the least."""
    values, counts = np.unique(row, return_counts=True)
    return int(np.flatnonzero(row == values[counts.argmax()])[-1])


def _mode_places(x: ndarray, axis: int) -> ndarray:
    along = np.moveaxis(x, axis, -1)
    places = np.array([_mode_place(row) for row in along.reshape(-1, along.shape[-1])], np.int64)
    return np.moveaxis(places.reshape(*along.shape[:-1], 1), -1, axis)


def _infer_mode_places(descs: Descs, attrs: Attrs) -> Descs:
    shape = list(descs[0].shape)
    shape[attrs["axis"]] = 1
    return [TensorDesc(tuple(shape), "int64")]


MODE_PLACES = define("mode_places", "x", "places", _mode_places, infer=_infer_mode_places, attrs="axis:int32")


def mode_places(x: Value, axis: int = -1) -> Value:
    """Return, with size 1 along an axis, the last position of the most frequent value."""
    return perform(MODE_PLACES, x, axis=normal_axis(axis, ndim_of(x), "mode"))


# ---- integers, and the grid of floats --------------------------------------------------------------------------------
