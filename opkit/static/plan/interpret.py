"""Interpret: run the ops of a plan one by one, without its text and without reused buffers.

For runs that are observed, and to finish a run with unexpected sizes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, TensorDesc, Value
from opkit.ops.core.finite import NonFiniteError
from opkit.ops.core.mode import local
from opkit.ops.core.observers import notify
from opkit.static.plan.failures import explain_failure
from opkit.static.plan.layout import Layout, is_state
from opkit.static.plan.prune import Like
from opkit.static.plan.sizes import Known
from opkit.static.plan.user_calls import PlannedCall
from opkit.static.scope import Holder


class Interpretable(Protocol):
    """What is run: a plan.

    Attributes:
        every: all ops that are needed, in order: also those that a constant or a known shape replaces.
        ops: those that run.
        known: descriptions of the Values.
        constants: Values that are not computed.
        layout: where all others live.
        holders: index of each variable's place, by name.
    """

    every: list[Operation]
    ops: Sequence[Operation]
    known: Known
    constants: Mapping[Value, ndarray]
    layout: Layout
    holders: dict[str, int]


def interpret(
    plan: Interpretable, after: Operation | None, slots: list[Any], holders: Sequence[Holder]
) -> Mapping[Value, Any]:
    """Run the ops from one on.

    Sizes are those of the arrays: a constant or a shape that the plan has found from its guess of what a user's
    function returns is found again.

    Args:
        plan: whose ops.
        after: the op that ran last, None to run all.
        slots: the Values so far, by number; those of the ops are added.
        holders: the places of the variables.

    Returns:
        the constants of this run.
    """
    number, layout, constants = plan.layout.number, plan.layout, dict[Value, Any](plan.constants)
    if after is None:
        for early in number:
            if early in layout.snapshots and is_state(early):
                slots[number[early]] = _held(plan, early, holders).copy()
    first = 0 if after is None else plan.every.index(after) + 1
    moved = set(() if after is None else after.results)  # what depends on results of users' functions
    planned = set(plan.ops)
    mode = local.mode
    for op in plan.every[first:]:
        is_planned = op in planned
        opdef: Any = op.opdef
        if opdef.is_user or any(value in moved for value in op.inputs):
            moved.update(op.results)
        elif not is_planned:
            continue
        arrays: list[Any] = []
        for value in op.inputs:
            held = slots[number[value]] if value in number else None
            if value is None or value in constants:
                held = None if value is None else constants[value]
            elif is_state(value) and value not in layout.snapshots and value.variable.name in plan.holders:
                held = _held(plan, value, holders)
            elif held is None:  # read for its shape alone
                held = Like(plan.known[value])
            arrays.append(held)
        begin = time.perf_counter()
        try:
            if is_planned or op.results[0] in constants:
                results = _run(op, arrays)
            else:
                descs = [item if item is None else TensorDesc(item.shape, item.dtype.name) for item in arrays]
                results = [Like(desc) for desc in opdef.infer(descs, op.attrs)]
            if mode.observers and is_planned:
                notify(mode.observers, opdef, arrays, op.attrs, results, time.perf_counter() - begin)
        except Exception as error:
            if isinstance(error, NonFiniteError):
                error.where = op.where or error.where
            explain_failure(error, op)
            raise
        if not is_planned:
            constants.update(zip(op.results, results))
            continue
        for value, array in zip(op.results, results):
            if value in layout.snapshots:
                array = array.copy()
            if value in layout.read_by_user:
                array = array if opdef.is_user else array.view()
                array.setflags(write=False)
            if value.variable.persistable:
                holders[plan.holders[value.variable.name]].put(array.copy())
            slots[number[value]] = array
    return constants


def _held(plan: Interpretable, value: Any, holders: Sequence[Holder]) -> ndarray:
    array = holders[plan.holders[value.variable.name]].array
    assert array is not None
    return array


def _run(op: Operation, arrays: list[Any]) -> Sequence[Any]:
    opdef: Any = op.opdef
    if not opdef.is_user:
        result = opdef.kernel(*arrays, **op.attrs)
        return [np.asarray(item) for item in (result if type(result) is tuple else (result,))]
    arrays = [_read_only(item) for item in arrays]
    call = PlannedCall(op, -1, None)
    result = call.call(arrays)
    return call.unpack(result, tuple(arrays))


def _read_only(item: Any) -> Any:
    if type(item) is ndarray and item.flags.writeable:
        item = item.view()
        item.setflags(write=False)
    return item
