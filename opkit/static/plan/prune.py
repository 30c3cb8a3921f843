"""Prune: the Operations that the fetches and the side effects need, in program order.

An input is read for its shape only where that shape is not known; nothing is computed here.

Folding: what depends on no feed, no variable and no random number is computed once, when the plan is made.

Arrays are made here and kept read-only; which Operations remain is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, TensorDesc, Value, to_numpy
from opkit.static.plan.sizes import Known


def has_effect(op: Operation) -> bool:
    """Return whether an Operation must run even where nothing reads what it computes."""
    opdef: Any = op.opdef
    if opdef.has_side_effect or op.writes:
        return True
    return any(value.variable.persistable for value in op.outputs)


def prune(
    ops: Sequence[Operation], fetched: Iterable[Value], is_known: Callable[[Value], bool] = lambda value: False
) -> list[Operation]:
    """Return the Operations that are needed.

    Args:
        ops: in program order.
        fetched: the Values that are fetched.
        is_known: says whether a Value's shape is known, so that reading its shape does not need the Value.
    """
    needed: set[Value] = set(fetched)
    kept = []
    for op in reversed(ops):
        if not has_effect(op) and not any(value in needed for value in op.outputs):
            continue
        kept.append(op)
        idle = shape_only(op)
        for index, value in enumerate(op.inputs):
            if value is not None and not (index in idle and is_known(value)):
                needed.add(value)
    kept.reverse()
    return kept


_NONE: Collection[int] = frozenset()
_shape_only: dict[int, tuple[Any, Collection[int]]] = {}


def shape_only(op: Operation) -> Collection[int]:
    """Return the indices of the inputs that an Operation reads for their shape and dtype alone."""
    declared = op.opdef.inputs  # type: ignore[attr-defined]
    found = _shape_only.get(id(declared))
    if found is None or found[0] is not declared:
        if len(_shape_only) > 4096:
            _shape_only.clear()
        indices = frozenset(i for i, arg in enumerate(declared) if arg.is_shape_only) or _NONE
        found = _shape_only[id(declared)] = (declared, indices)
    return found[1]


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
