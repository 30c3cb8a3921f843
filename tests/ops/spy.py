"""A spy on the current mode: it sees every op that a case applies, forwards and backwards, and checks each one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opkit import ops
from opkit.ir import TensorDesc
from opkit.ops.core.observers import observe


@dataclass
class Spy:
    """What was applied: op names, and what was found wrong with them."""

    names: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


def _desc(value: Any) -> TensorDesc | None:
    return None if value is None else ops.desc_of(value)


def _agree(inferred: TensorDesc, made: TensorDesc | None) -> bool:
    if made is None or inferred.dtype != made.dtype or inferred.ndim != made.ndim:
        return False
    return all(size in (-1, known) for size, known in zip(inferred.shape, made.shape))


def _check_infer(
    opdef: ops.OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], results: Sequence[Any], spy: Spy
) -> None:
    if opdef.infer is None:
        spy.faults.append(f"{opdef.name}: no inference")
        return
    found = list(opdef.infer([_desc(value) for value in inputs], attrs))
    actual = [_desc(value) for value in results]
    if len(found) != len(actual) or not all(map(_agree, found, actual)):
        spy.faults.append(f"{opdef.name}: infer says {found}, the kernel made {actual}")


def _check_out(opdef: ops.OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], result: Any, spy: Spy) -> None:
    if opdef.kernel_out is None:
        return
    arrays = [None if value is None else value._data for value in inputs]
    buffer = np.empty(result._data.shape, result._data.dtype)
    buffer.fill(77)
    returned = opdef.kernel_out(*arrays, out=buffer, **attrs)
    if returned is not None and returned is not buffer:
        spy.faults.append(f"{opdef.name}: kernel_out did not return its buffer")
    if buffer.tobytes() != np.ascontiguousarray(result._data).tobytes():
        spy.faults.append(f"{opdef.name}: kernel_out is not bit-equal to the kernel")


def _check_view(opdef: ops.OpDef, inputs: Sequence[Any], results: Sequence[Any], spy: Spy) -> None:
    if opdef.is_view:
        return
    for value in inputs:
        if isinstance(getattr(value, "_data", None), np.ndarray) and value._data.size:
            if any(np.shares_memory(value._data, result._data) for result in results):
                spy.faults.append(f"{opdef.name}: a result shares memory with an input, and is_view is not set")


@contextmanager
def spying() -> Iterator[Spy]:
    """Check every op applied within: inference, buffers, views, inputs left alone (they are made read-only).

    An observer that does nothing keeps gradients to their rules, whose ops are seen.
    """
    spy = Spy()
    mode = ops.local.mode
    apply = mode.apply

    def watched(opdef: ops.OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        spy.names.add(opdef.name)
        if opdef.has_side_effect:
            return apply(opdef, inputs, attrs)
        held = [v._data for v in inputs if isinstance(getattr(v, "_data", None), np.ndarray)]
        locked = [array for array in held if array.flags.writeable]
        for array in locked:
            array.flags.writeable = False
        try:
            result = apply(opdef, inputs, attrs)
        finally:
            for array in locked:
                array.flags.writeable = True
        results = list(result) if isinstance(result, tuple) else [result]
        _check_infer(opdef, inputs, attrs, results, spy)
        _check_view(opdef, inputs, results, spy)
        if len(results) == 1 and not opdef.is_random:
            _check_out(opdef, inputs, attrs, results[0], spy)
        return result

    mode.apply = watched
    try:
        with observe(lambda *ran: None):
            yield spy
    finally:
        mode.apply = apply
