"""The gradient rule of a PyLayer: passes backward its gradients, and checks what it returns against the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager.pylayer_faults import GradientCountError, note, refuse
from opkit.eager.pylayer_records import GeneralRecord, Input, Place, Slot
from opkit.eager.tensor import Tensor, wrap
from opkit.ir import current_dialect
from opkit.ops import reshape


def general_rule(ctx: Any, douts: Sequence[Any], release: bool) -> Sequence[Any]:
    """Run a PyLayer's backward on any number of gradients (``autograd.Step.walk_rule``)."""
    cls = ctx.walk_class
    record: GeneralRecord = ctx.walk_record
    materialize = ctx.walk_marks is None or ctx.walk_marks.materialize
    args = [
        [_gradient(item, douts, materialize) for item in place]
        if isinstance(place, list)
        else _gradient(place, douts, materialize)
        for place in record.outputs
    ]
    try:
        result = cls.backward(ctx, *args)
    except Exception as error:
        note(error, cls, "backward")
        raise
    return checked_grads(ctx, result, release)


def _gradient(place: Place, douts: Sequence[Any], materialize: bool) -> Tensor | None:
    dout = None if place.index < 0 else douts[place.index]
    if dout is None:
        return wrap(np.zeros(place.shape, place.dtype)) if materialize else None
    if dout._sg:
        return wrap(dout._data, stop_gradient=False)
    found: Tensor = dout
    return found


def checked_grads(ctx: Any, result: Any, release: bool) -> Sequence[Any]:
    """Return one cotangent or None per input Tensor, as the user's backward gave them.

    Raises:
        PyLayerError: the count, a type or a shape is wrong, or one is missing.
    """
    cls = ctx.walk_class
    inputs, slots = ctx.walk_record.inputs, ctx.walk_record.slots
    given = _as_outputs(result, slots)
    if len(given) > len(slots):
        refuse(cls, "backward", _count_message(len(slots), len(given)), kind=GradientCountError)
    grads: list[Any] = [None] * len(inputs)
    for position, slot in enumerate(slots):
        count = 1 if slot.members is None else len(slot.members[1])
        wants = [not inputs[slot.start + i].is_stopped for i in range(count)]
        if position >= len(given):
            if any(wants):
                refuse(
                    cls,
                    "backward",
                    _count_message(len(slots), len(given)),
                    help="return None only for inputs whose stop_gradient is True; those at the end may be left out",
                    kind=GradientCountError,
                )
            continue
        values = _slot_values(cls, slot, given[position], position)
        for i, value in enumerate(values):
            grads[slot.start + i] = _checked(cls, value, inputs[slot.start + i], position)
    if release:
        ctx.walk_release()
    return grads


def _as_outputs(result: Any, slots: Sequence[Slot]) -> Sequence[Any]:
    """Return what backward returned, one item per slot."""
    if type(result) is tuple:
        return result
    if isinstance(result, list):
        is_slot_value = len(slots) == 1 and slots[0].members is not None
        if not is_slot_value or any(isinstance(item, (list, tuple)) for item in result):
            return result
    elif isinstance(result, tuple):
        return result
    return (result,)


def _slot_values(cls: Any, slot: Slot, value: Any, position: int) -> Sequence[Any]:
    if slot.members is None:
        return (value,)
    length, places = slot.members
    if value is None:
        return (None,) * len(places)
    if not isinstance(value, (list, tuple)):
        refuse(
            cls,
            "backward",
            f"the gradient at position {position} belongs to a list of {length} and must be a list or tuple, "
            f"got {type(value).__name__}",
            help="return one list for a list argument: return [da, db]",
        )
    if len(value) == length:
        return [value[i] for i in places]
    if len(value) == len(places):
        return list(value)
    return refuse(
        cls, "backward", f"the gradient at position {position} belongs to a list of {length} and has {len(value)} items"
    )


def _checked(cls: Any, value: Any, wanted: Input, position: int) -> Tensor | None:
    if value is None:
        if wanted.is_stopped:
            return None
        refuse(
            cls,
            "backward",
            f"backward returned None at position {position}, but that input takes a gradient",
            help="return a Tensor of zeros if the gradient is zero; an input that takes none must be a Tensor whose "
            "stop_gradient is True, in cases too, and no array of numpy's",
        )
    if not isinstance(value, Tensor):
        refuse(
            cls,
            "backward",
            f"backward must return Tensors or None, got {type(value).__name__} at position {position}",
            help=current_dialect().words.make_tensor if isinstance(value, (ndarray, np.generic, int, float)) else "",
        )
    if wanted.is_stopped:
        refuse(
            cls,
            "backward",
            f"backward must return None at position {position}: the stop_gradient of that input is True",
        )
    if value._data.shape != wanted.shape:
        if {value._data.shape, wanted.shape} == {(), (1,)}:
            return _checked(cls, _reshaped(value, wanted.shape), wanted, position)
        refuse(
            cls,
            "backward",
            f"the gradient at position {position} must have its input's shape {list(wanted.shape)}, "
            f"got {list(value._data.shape)}",
        )
    if value._data.dtype == wanted.dtype:
        return value
    if value._node is not None and not value._sg:
        cast: Tensor = value.astype(wanted.dtype)  # type: ignore[attr-defined]  # methods are attached at import
        return cast
    return wrap(value._data.astype(wanted.dtype), value._sg)


def _reshaped(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a gradient of one element in its input's shape: a number and an array of one differ in shape alone."""
    if value._node is not None and not value._sg:
        recorded: Tensor = reshape(value, shape)
        return recorded
    return wrap(value._data.reshape(shape), value._sg)


def _count_message(expected: int, got: int) -> str:
    return (
        f"backward must return {expected} gradient{'' if expected == 1 else 's'}, one per Tensor input of forward, "
        f"it returned {got}"
    )
