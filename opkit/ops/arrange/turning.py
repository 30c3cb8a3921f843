"""Elements of an axis in another order or more than once: flipping, rolling, tiling, repeating.

Parts of arrays, and what is put around them, are in ``opkit.ops.arrange.slicing``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import Shape, TensorDesc
from opkit.ops.core.define import define_linear, define_map
from opkit.ops.core.inference import along
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Ints
from opkit.ops.core.value import Value, ndim_of, normal_axes, normal_axis

FLIP: OpDef = define_map(
    "flip",
    lambda x, axis: np.flip(x, tuple(axis)),
    lambda applied, dout: perform(FLIP, dout, **applied.attrs),
    attrs="axis:vector<int32>",
    view=True,
    infer=along("flip"),
)


def _roll_rule(applied: Any, dout: Value) -> Value:
    back = {"shifts": tuple(-shift for shift in applied.attrs["shifts"]), "axis": applied.attrs["axis"]}
    return perform(ROLL, dout, **back)


ROLL = define_map(
    "roll",
    lambda x, shifts, axis: np.roll(x, tuple(shifts), tuple(axis) or None) if axis else np.roll(x, shifts[0]),
    _roll_rule,
    attrs="shifts:vector<int32> axis:vector<int32>",
    infer=along("roll"),
)


def _tiled(shape: Ints, reps: Ints) -> Shape:
    wide = (*(1,) * (len(reps) - len(shape)), *shape)
    reps = (*(1,) * (len(wide) - len(reps)), *reps)
    return tuple(-1 if size == -1 else size * count for size, count in zip(wide, reps))


def _tile_back(dy: ndarray, like: Any, reps: Ints) -> Any:
    wide = (*(1,) * (len(reps) - len(like.shape)), *like.shape)
    reps = (*(1,) * (len(wide) - len(reps)), *reps)
    parts = dy.reshape([size for pair in zip(reps, wide) for size in pair])
    return np.add.reduce(parts, tuple(range(0, parts.ndim, 2)), dy.dtype).reshape(like.shape)


def _infer_tile(descs: Descs, attrs: Attrs) -> Descs:
    if min(attrs["reps"], default=0) < 0:
        raise ShapeError(f"op 'tile' got {descs[0]}: it repeats 0 times or more, not {tuple(attrs['reps'])}")
    return [TensorDesc(_tiled(descs[0].shape, attrs["reps"]), descs[0].dtype)]


TILE, TILE_GRAD = define_linear(
    "tile", lambda x, reps: np.tile(x, tuple(reps)), _tile_back, infer=_infer_tile, attrs="reps:vector<int32>"
)


def flip(x: Value, axis: Any) -> Value:
    """Return ``x`` with the order along the axes reversed."""
    return local.mode.apply(FLIP, (x,), {"axis": normal_axes(axis, ndim_of(x), "flip")})


def roll(x: Value, shifts: Any, axis: Any = None) -> Value:
    """Return ``x`` moved along the axes; elements that leave at the end re-enter at the start; left out: flattened."""
    moves = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    axes = () if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if axes and len(axes) != len(moves):
        raise ShapeError(f"op 'roll': {len(moves)} shifts for {len(axes)} axes")
    at = tuple(normal_axis(item, ndim_of(x), "roll") for item in axes)
    return local.mode.apply(ROLL, (x,), {"shifts": moves, "axis": at})


def tile(x: Value, reps: Any) -> Value:
    """Return ``x`` repeated along each axis (numpy's ``tile``)."""
    counts = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    return local.mode.apply(TILE, (x,), {"reps": tuple(int(count) for count in counts)})


def _repeated(descs: Descs, attrs: Attrs) -> Descs:
    shape, axis = list(descs[0].shape), normal_axis(attrs["axis"], descs[0].ndim, "repeat")
    if attrs["repeats"] < 0:
        raise ShapeError(f"op 'repeat' got {descs[0]}: it repeats 0 times or more, not {attrs['repeats']}")
    shape[axis] = -1 if shape[axis] == -1 else shape[axis] * attrs["repeats"]
    return [TensorDesc(tuple(shape), descs[0].dtype)]


def _repeat_back(dy: ndarray, like: Any, repeats: int, axis: int) -> Any:
    parts = dy.reshape(*like.shape[: axis + 1], repeats, *like.shape[axis + 1 :])
    return np.add.reduce(parts, axis + 1, dy.dtype)


REPEAT, REPEAT_GRAD = define_linear(
    "repeat_interleave",
    lambda x, repeats, axis: np.repeat(x, repeats, axis),
    _repeat_back,
    infer=_repeated,
    attrs="repeats:int64 axis:int32",
)


def repeat_interleave(x: Value, repeats: int, axis: int = 0) -> Value:
    """Return ``x`` with each slice along an axis repeated in place."""
    attrs = {"repeats": int(repeats), "axis": normal_axis(axis, ndim_of(x), "repeat_interleave")}
    return local.mode.apply(REPEAT, (x,), attrs)
