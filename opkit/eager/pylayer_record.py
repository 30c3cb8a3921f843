"""Recording a PyLayer whose application is not one Tensor in, one Tensor out.

Inputs: every Tensor argument is a slot, and so is every list or tuple with Tensors in it (as one); other arguments
have none. Outputs: every Tensor that forward returns, bare or in a tuple or list, and every list of Tensors in that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from opkit.eager.node import edge_of
from opkit.eager.pylayer_context import Marks
from opkit.eager.pylayer_faults import NoTensorError, note, refuse
from opkit.eager.pylayer_records import GeneralRecord, Input, Place, Slot
from opkit.eager.pylayer_rule import general_rule
from opkit.eager.tensor import Tensor, version_cell, wrap
from opkit.ops.core.mode import local
from opkit.ops.core.observers import notify, notify_error

_NOT_RUN = object()


def record(cls: Any, ctx: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any = _NOT_RUN) -> Any:
    """Run forward where that was not done yet, check what it returned, and record it.

    Args:
        cls: the PyLayer.
        ctx: its context.
        args: what apply was given.
        kwargs: what apply was given.
        result: what forward returned, where it ran already.

    Returns:
        The result, with its Tensors attached.
    """
    mode = local.mode
    tensors, slots = _slots_of([*args, *kwargs.values()])
    if result is _NOT_RUN:
        result = _run_forward(cls, ctx, args, kwargs, tensors)
    items: list[Any] = list(result) if isinstance(result, (list, tuple)) else [result]
    outputs = _tensors_in(items)
    if not outputs:
        said = f"forward must return at least one Tensor, it returned {_describe(result)}"
        help = "return the Tensor next to the other values: return y, y.shape"
        refuse(cls, "forward", said, help, NoTensorError)
    marks = ctx.walk_marks or Marks()
    if not mode.is_grad_enabled or all(tensor._sg for tensor in tensors):
        ctx.walk_rule = None
        ctx.keep_saved(())
        return result
    edges = tuple(map(edge_of, tensors))
    indices = tuple(tensor._index for tensor in tensors)
    replaced = _refuse_or_replace_inputs(cls, tensors, outputs, marks)
    _attach(ctx, [replaced.get(id(output), output) for output in outputs], marks, tensors)
    if replaced:
        result = _with_replaced(result, replaced)
        items = list(result) if isinstance(result, (list, tuple)) else [result]
        outputs = _tensors_in(items)
    ctx.walk_edges = edges
    ctx.walk_indices = indices
    ctx.walk_rule = general_rule
    inputs = tuple(Input(tensor._data.shape, tensor._data.dtype, tensor._sg) for tensor in tensors)
    ctx.walk_record = GeneralRecord(inputs, tuple(slots), _output_places(items, outputs))
    ctx.keep_saved(outputs)
    return result


def _slots_of(values: Sequence[Any]) -> tuple[list[Tensor], list[Slot]]:
    tensors: list[Tensor] = []
    slots: list[Slot] = []
    for value in values:
        if isinstance(value, Tensor):
            slots.append(Slot(len(tensors), None))
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            places = [i for i, item in enumerate(value) if isinstance(item, Tensor)]
            if places:
                slots.append(Slot(len(tensors), (len(value), tuple(places))))
                tensors.extend(value[i] for i in places)
    return tensors, slots


def _run_forward(cls: Any, ctx: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: Sequence[Tensor]) -> Any:
    mode = local.mode
    was_enabled, mode.is_grad_enabled = mode.is_grad_enabled, False
    start = time.perf_counter()
    try:
        result = cls.forward(ctx, *args, **kwargs)
    except Exception as error:
        note(error, cls, "forward")
        notify_error(mode.observers, ctx.opdef, error)
        raise
    finally:
        mode.is_grad_enabled = was_enabled
    if mode.observers:
        seconds = time.perf_counter() - start
        items = result if isinstance(result, (list, tuple)) else [result]
        attrs = {"args": args, "kwargs": kwargs}
        arrays = [tensor._data for tensor in tensors]
        notify(mode.observers, ctx.opdef, arrays, attrs, [tensor._data for tensor in _tensors_in(items)], seconds)
    return result


def _tensors_in(items: Sequence[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for item in items:
        if isinstance(item, Tensor):
            found.append(item)
        elif _is_tensor_list(item):
            found.extend(item)
    return found


def _is_tensor_list(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and bool(item) and all(isinstance(member, Tensor) for member in item)


def _output_places(items: Sequence[Any], outputs: Sequence[Tensor]) -> tuple[Place | list[Place], ...]:
    """Return per argument of backward the output that it belongs to, a list of them for a list of Tensors."""
    last = {id(tensor): position for position, tensor in enumerate(outputs)}
    places: list[Place | list[Place]] = []
    position = 0
    for item in items:
        if isinstance(item, Tensor):
            places.append(_place(item, position, last))
            position += 1
        elif _is_tensor_list(item):
            places.append([_place(member, position + i, last) for i, member in enumerate(item)])
            position += len(item)
    return tuple(places)


def _place(tensor: Tensor, position: int, last: Mapping[int, int]) -> Place:
    # A Tensor returned twice is one Tensor: its gradient arrives at its last position, the earlier ones are unused.
    index = position if last[id(tensor)] == position else -1
    return Place(index, tensor._data.shape, tensor._data.dtype)


def _refuse_or_replace_inputs(
    cls: Any, tensors: Sequence[Tensor], outputs: Sequence[Tensor], marks: Marks
) -> dict[int, Tensor]:
    """Handle outputs that are inputs: an in-place change, unless ``mark_not_inplace`` says otherwise."""
    by_array = {id(tensor._data): tensor for tensor in tensors}
    not_inplace = {id(item) for item in marks.not_inplace}
    replaced: dict[int, Tensor] = {}
    for output in outputs:
        source = by_array.get(id(output._data))
        if source is None or id(output) in replaced:
            continue
        if id(source) in not_inplace:
            replaced[id(output)] = wrap(output._data)
        elif output is not source:
            refuse(
                cls,
                "forward",
                f"forward returned a Tensor on the same memory as its input {source.name!r}",
                help="return a copy: x.clone()",
            )
        elif source._node is None and not source._sg:
            refuse(
                cls,
                "forward",
                f"forward returned its input {source.name!r}, a leaf that takes a gradient: an in-place change of a "
                f"leaf is not possible",
                help="return a copy, x.clone(), or call ctx.mark_not_inplace(x) before returning x",
            )
        else:
            version_cell(source)[0] += 1
    return replaced


def _attach(ctx: Any, outputs: Sequence[Tensor], marks: Marks, tensors: Sequence[Tensor]) -> None:
    flat = {id(item) for item in marks.non_differentiable}
    ctx.walk_width = len(outputs)
    for index, output in enumerate(outputs):
        if id(output) in flat:
            output._sg = True
            output._node = None
            continue
        output._sg = False
        output._node = ctx
        output._index = index


def _with_replaced(result: Any, replaced: Mapping[int, Tensor]) -> Any:
    if isinstance(result, (list, tuple)):
        return type(result)(_with_replaced(item, replaced) for item in result)
    return replaced.get(id(result), result)


def _describe(result: Any) -> str:
    if isinstance(result, (list, tuple)):
        return f"a {type(result).__name__} of {', '.join(type(item).__name__ for item in result) or 'nothing'}"
    return "None" if result is None else f"a {type(result).__name__}"
