"""Resizing images: one matrix per axis, whose rows hold the weights of the input's places.

The gradient is the product with the transposed matrices.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.core.define import define, define_linear, first_only, quiet
from opkit.ops.core.inference import shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Attrs, Descs

_ATTRS = "sizes:vector<int32> scales:vector<float> align_corners:bool interpolation:string data_format:string"


@lru_cache(maxsize=64)
def _weights(size: int, target: int, scale: float, align_corners: bool, interpolation: str) -> ndarray:
    """Return the ``(target, size)`` matrix of one axis; ``scale`` is input sizes per output size."""
    places = np.arange(target, dtype=np.float64)
    matrix = np.zeros((target, size))
    if interpolation == "nearest":
        at = np.minimum((places * scale).astype(np.int64), size - 1)
        matrix[np.arange(target), at] = 1
        return matrix
    if align_corners:
        source = places * ((size - 1) / (target - 1) if target > 1 else 0.0)
    else:
        source = np.maximum((places + 0.5) * scale - 0.5, 0)
    low = np.minimum(source.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = source - low
    np.add.at(matrix, (np.arange(target), low), 1 - share)
    np.add.at(matrix, (np.arange(target), high), share)
    return matrix


def _axes(ndim: int, data_format: str) -> range:
    return range(1, ndim - 1) if data_format in ("channels_last", "NHWC", "NWC", "NDHWC") else range(2, ndim)


def _matrix(size: int, target: int, attrs: Attrs, k: int) -> ndarray:
    scale = 1 / attrs["scales"][k] if attrs["scales"] else size / target
    return _weights(size, target, scale, attrs["align_corners"], attrs["interpolation"])


def _along(x: ndarray, axis: int, side: int, matrix: ndarray) -> ndarray:
    """Return x with an axis mapped by a matrix, whose side ``side`` is as long."""
    return np.moveaxis(np.tensordot(x, matrix.astype(x.dtype), axes=(axis, side)), -1, axis)


@quiet
def _resize(x: ndarray, **attrs: Any) -> Any:
    for k, axis in enumerate(_axes(x.ndim, attrs["data_format"])):
        size, target = x.shape[axis], _target(x.shape[axis], attrs, k)
        x = _along(x, axis, 1, _matrix(size, target, attrs, k))
    return np.ascontiguousarray(x)


@quiet
def _resize_back(dy: ndarray, like: Any, **attrs: Any) -> Any:
    for k, axis in enumerate(_axes(dy.ndim, attrs["data_format"])):
        size, target = like.shape[axis], dy.shape[axis]
        dy = _along(dy, axis, 0, _matrix(size, target, attrs, k))
    return np.ascontiguousarray(dy)


def _target(size: int, attrs: Attrs, k: int) -> int:
    return int(attrs["sizes"][k]) if attrs["sizes"] else int(np.floor(size * attrs["scales"][k]))


def _infer_resize(descs: Descs, attrs: Attrs) -> Descs:
    shape = list(descs[0].shape)
    axes = _axes(len(shape), attrs["data_format"])
    if len(attrs["sizes"] or attrs["scales"]) != len(axes):
        raise shape_error("resize", descs, f"it needs one size or scale for each of the axes {tuple(axes)}")
    for k, axis in enumerate(axes):
        known = attrs["sizes"] or shape[axis] != -1
        shape[axis] = _target(shape[axis], attrs, k) if known else -1
    return [TensorDesc(tuple(shape), descs[0].dtype)]


RESIZE, RESIZE_GRAD = define_linear("resize", _resize, _resize_back, infer=_infer_resize, attrs=_ATTRS)


# ---- upsample --------------------------------------------------------------------------------------------------------
_UPSAMPLE = "height_scale:float width_scale:float align_corners:bool data_format:string interpolation:string"


def _of_upsample(attrs: Attrs) -> dict[str, Any]:
    names = ("align_corners", "data_format", "interpolation")
    return {"sizes": (), "scales": (attrs["height_scale"], attrs["width_scale"]), **{n: attrs[n] for n in names}}


UPSAMPLE = define(
    "upsample",
    "x",
    "y",
    lambda x, **attrs: _resize(x, **_of_upsample(attrs)),
    infer=lambda descs, attrs: _infer_resize(descs, _of_upsample(attrs)),
    attrs=_UPSAMPLE,
    defaults={"data_format": "channels_first", "interpolation": "nearest"},
    grad=first_only(lambda applied, dout: perform(RESIZE_GRAD, dout, applied.inputs[0], **_of_upsample(applied.attrs))),
)
