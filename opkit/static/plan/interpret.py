"""Interpret: run the ops of a plan one by one, without its text and without reused buffers.

For runs that are observed, and to finish a run with unexpected sizes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, Value
from opkit.ops.core.finite import NonFiniteError
from opkit.ops.core.mode import local
from opkit.ops.core.observers import notify
from opkit.ops.core.types import Arrays
from opkit.static.plan.failures import explain_failure
from opkit.static.plan.folding import Like
from opkit.static.plan.layout import Layout, is_state
from opkit.static.plan.sizes import Known
from opkit.static.plan.user_calls import PlannedCall
from opkit.static.scope import Holder


class Interpretable(Protocol):
    """What is run: a plan.

    Attributes:
        ops: in order.
        known: descriptions of the Values.
        constants: Values that are not computed.
        layout: where all others live.
        holders: index of each variable's place, by name.
    """

    ops: Sequence[Operation]
    known: Known
    constants: Mapping[Value, ndarray]
    layout: Layout
    holders: dict[str, int]


def interpret(plan: Interpretable, start: int, slots: list[Any], holders: Sequence[Holder]) -> None:
    """Run the ops from one position on.

    Args:
        plan: whose ops.
        start: position of the first op to run.
        slots: the Values so far, by number; those of the ops are added.
        holders: the places of the variables.
    """
    number, layout, constants = plan.layout.number, plan.layout, plan.constants
    if start == 0:
        for early in number:
            if early in layout.snapshots and is_state(early):
                slots[number[early]] = _held(plan, early, holders).copy()
    mode = local.mode
    for position in range(start, len(plan.ops)):
        op = plan.ops[position]
        arrays: list[Any] = []
        for value in op.inputs:
            if value is None or value in constants:
                arrays.append(None if value is None else constants[value])
            elif is_state(value) and value not in layout.snapshots:
                arrays.append(_held(plan, value, holders))
            elif value in number:
                arrays.append(slots[number[value]])
            else:  # read for its shape alone, which is known
                arrays.append(Like(plan.known[value]))
        begin = time.perf_counter()
        try:
            results = _run(plan, op, position, arrays)
            seconds = time.perf_counter() - begin
            if mode.observers:
                notify(mode.observers, op.opdef, arrays, op.attrs, results, seconds)  # type: ignore[arg-type]
        except Exception as error:
            if isinstance(error, NonFiniteError):
                error.where = op.where or error.where
            explain_failure(error, op)
            raise
        for value, array in zip(op.results, results):
            if value in layout.snapshots:
                array = array.copy()
            if value in layout.read_by_user:
                array = array if op.opdef.is_user else array.view()  # type: ignore[attr-defined]
                array.setflags(write=False)
            if value.variable.persistable:
                holders[plan.holders[value.variable.name]].put(array.copy())
            slots[number[value]] = array


def _held(plan: Interpretable, value: Any, holders: Sequence[Holder]) -> ndarray:
    array = holders[plan.holders[value.variable.name]].array
    assert array is not None
    return array


def _run(plan: Interpretable, op: Operation, position: int, arrays: list[Any]) -> Arrays:
    opdef: Any = op.opdef
    if not opdef.is_user:
        result = opdef.kernel(*arrays, **op.attrs)
        return [np.asarray(item) for item in (result if type(result) is tuple else (result,))]
    arrays = [_read_only(item) for item in arrays]
    call = PlannedCall(op, position, None)
    result = call.call(arrays)
    return call.unpack(result, tuple(arrays))


def _read_only(item: Any) -> Any:
    if type(item) is ndarray and item.flags.writeable:
        item = item.view()
        item.setflags(write=False)
    return item
