"""Folding: what depends on no feed, no variable and no random number is computed once, when the plan is made.

Arrays are made here and kept read-only; which Operations remain is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, TensorDesc, Value, to_numpy
from opkit.static.plan.prune import has_effect, shape_only
from opkit.static.plan.sizes import Known

#: Larger constants are made again in every run, so that a plan does not hold on to their memory.
_MOST_BYTES = 1 << 16


class Like:
    """The placeholder for an input that is read for its shape and dtype only."""

    __slots__ = ("dtype", "ndim", "shape", "size")

    def __init__(self, desc: TensorDesc) -> None:
        self.shape = desc.shape
        self.dtype = to_numpy(desc.dtype)
        self.ndim = len(desc.shape)
        self.size = math.prod(desc.shape)


def fold(ops: Sequence[Operation], known: Known, is_exact: bool) -> tuple[list[Operation], dict[Value, ndarray]]:
    """Return the remaining Operations, and the constants that replace the others."""
    constants: dict[Value, ndarray] = {}
    left = []
    for op in ops:
        arrays = _constant_inputs(op, constants, known, is_exact)
        if arrays is None or not _can_fold(op, known):
            left.append(op)
            continue
        opdef: Any = op.opdef
        result = opdef.kernel(*arrays, **op.attrs)
        for value, item in zip(op.outputs, result if type(result) is tuple else (result,)):
            array = np.asarray(item)
            array.setflags(write=False)
            constants[value] = array
    return left, constants


def _can_fold(op: Operation, known: Known) -> bool:
    opdef: Any = op.opdef
    if opdef.is_user or opdef.is_random or has_effect(op):
        return False
    for value in op.outputs:
        desc = known[value]
        if not desc.is_static or math.prod(desc.shape) * to_numpy(desc.dtype).itemsize > _MOST_BYTES:
            return bool(opdef.is_view) and desc.is_static
    return True


def _constant_inputs(op: Operation, constants: dict[Value, ndarray], known: Known, is_exact: bool) -> list[Any] | None:
    idle = shape_only(op)
    arrays: list[Any] = []
    for index, value in enumerate(op.inputs):
        if value is None or value in constants:
            arrays.append(None if value is None else constants[value])
        elif index in idle and is_exact and known[value].is_static:
            arrays.append(Like(known[value]))
        else:
            return None
    return arrays
