"""Layout: results must not depend on how arguments lie in memory (GC130, GC131).

Rearranges memory without changing values; other checks decide which values are correct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.checks.purity import same
from opkit.checker.model.evaluate import Evaluator, frozen, is_float, leaves_of, snapshot
from opkit.checker.model.formats import FORMATS
from opkit.checker.model.numbers import largest
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import (
    COARSE_ULPS,
    LAYOUT_CASES,
    LAYOUT_ULPS,
)
from opkit.checker.model.types import ArrayMap, Results
from opkit.ir import Shape
from opkit.record import record

_REFUSED = "not served: "
#: The strides of all arrays of a call.
_Strides: TypeAlias = tuple[Shape, ...]


@record
class _Fault:
    """What came of another layout: a sentence, and whether the function refused it aloud."""

    said: str
    is_refusal: bool = False

    def at(self, where: str) -> _Fault:
        return replace(self, said=f"{self.said} for {where}")


def _fortran(array: ndarray) -> ndarray:
    return np.array(array, order="F", copy=True)


def _strided(array: ndarray) -> ndarray:
    if array.ndim == 0:
        return array
    wide = np.full((*array.shape[:-1], 2 * array.shape[-1] + 1), _filler(array), dtype=array.dtype)
    view = wide[..., 1 : 2 * array.shape[-1] + 1 : 2]
    view[...] = array
    return view


def _outer_strided(array: ndarray) -> ndarray:
    if array.ndim == 0:
        return array
    tall = np.full((2 * array.shape[0] + 1, *array.shape[1:]), _filler(array), dtype=array.dtype)
    view = tall[1 : 2 * array.shape[0] + 1 : 2]
    view[...] = array
    return view


def _reversed(array: ndarray) -> ndarray:
    index = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[index])[index] if array.ndim else array


def _permuted(array: ndarray) -> ndarray:
    if array.ndim < 2:
        return _reversed(array)
    moved: ndarray = np.ascontiguousarray(np.moveaxis(array, 0, -1))
    permuted: ndarray = moved.transpose(-1, *range(array.ndim - 1))
    return permuted


def _filler(array: ndarray) -> Any:
    return np.nan if array.dtype.kind == "f" else 0


#: name -> the same values, otherwise laid out.
LAYOUTS: dict[str, ArrayMap] = {
    "Fortran order": _fortran,
    "strides over the last axis": _strided,
    "strides over the first axis": _outer_strided,
    "negative strides": _reversed,
    "permuted axes": _permuted,
}


def _broadcast(array: ndarray, axis: int | None) -> ndarray:
    """Return zero strides along an axis, None for all: values repeat the first along it."""
    if array.ndim == 0 or not array.size:
        return array
    first = array.take([0], axis=axis) if axis is not None else array.reshape(-1)[:1].reshape((1,) * array.ndim)
    return np.broadcast_to(first, array.shape)


def layouts(session: CheckSession) -> Iterator[CheckResult]:
    """GC130 and GC131: forward and backward on rearranged arguments."""
    evaluators = session.diverse(LAYOUT_CASES, 2)
    found: dict[str, CheckResult] = {}
    for number, ev in enumerate(evaluators):
        for code, fault in _faults(ev, session.rng(700 + number)):
            where = session.checkable.backward_where if code == "GC131" else session.checkable.forward_where
            if not (fault.is_refusal and session.is_found(ev.case) and session.checkable.infer is None):
                found.setdefault(code, session.failed(code, fault.said, ev, where=where))
            elif not any(note.startswith(_REFUSED) for note in session.notes):  # a misfit (rule 5)
                session.notes.append(f"{_REFUSED}{fault.said}")
    yield from found.values()
    for code in ("GC130", "GC131"):
        if code not in found:
            yield session.passed(code, len(evaluators))


def _ulps(ev: Evaluator) -> float:
    """Return how many units of the arrays' dtype an op may be off by; its own where it computes in a coarser one."""
    form = ev.checkable.format
    return COARSE_ULPS * FORMATS[form].eps / FORMATS["float32"].eps if form else LAYOUT_ULPS


def _faults(ev: Evaluator, rng: Generator) -> Iterator[tuple[str, _Fault]]:
    douts = ev.douts_from(rng.uniform(-2, 2, sum(ev.sizes)))
    gradients = list(ev.gradients(douts).values()) if ev.leaves and ev.slots else []
    tried = {_strides(ev.inputs), _strides(ev.inputs, douts)}  # arrays of one axis lie alike in several layouts
    for name, change in LAYOUTS.items():
        moved = ev.map_inputs(lambda array, change=change: frozen(change(array)))  # type: ignore[misc]
        turned = [change(item) for item in douts]
        fault = _try(ev, moved, ev.outputs) if _is_new(tried, _strides(moved)) else None
        if fault:
            yield "GC130", fault.at(f"arguments with {name}")
        if not gradients:
            continue
        for inputs, incoming, results, whose in (
            (ev.inputs, turned, change, "an incoming gradient"),
            (moved, douts, None, "forward's inputs"),
            (moved, turned, change, "all its arguments"),
        ):
            if not _is_new(tried, _strides(inputs, incoming)):
                continue
            fault = _try_backward(ev, inputs, incoming, gradients, results)
            if fault:
                yield "GC131", fault.at(f"{whose} with {name}")
    yield from _one_by_one(ev, douts, gradients)
    yield from _shared(ev)
    yield from _zero_strides(ev, douts, gradients)


def _strides(inputs: Mapping[str, Any], douts: Results = ()) -> _Strides:
    """Return how the arguments of forward, or of backward, lie in memory."""
    return tuple(array.strides for array in (*(item for _, item in leaves_of(inputs)), *douts))


def _is_new(tried: set[_Strides], lies: _Strides) -> bool:
    is_new = lies not in tried
    tried.add(lies)
    return is_new


def _one_by_one(ev: Evaluator, douts: list[ndarray], gradients: list[ndarray | None]) -> Iterator[tuple[str, _Fault]]:
    """Arguments that differ among each other in how they lie."""
    leaves = [leaf for leaf, array in leaves_of(ev.inputs) if array.ndim]
    if len(leaves) < 2:
        return
    tried = {_strides(ev.inputs)}
    for name in ("Fortran order", "permuted axes"):
        for leaf in leaves:
            inputs = ev.replaced(leaf, frozen(LAYOUTS[name](ev.array(leaf))))
            if not _is_new(tried, _strides(inputs)):
                continue
            fault = _try(ev, inputs, ev.outputs)
            if fault:
                yield "GC130", fault.at(f"{leaf} alone with {name}")
            fault = _try_backward(ev, inputs, douts, gradients, None) if gradients else None
            if fault:
                yield "GC131", fault.at(f"{leaf} alone with {name}")


def _shared(ev: Evaluator) -> Iterator[tuple[str, _Fault]]:
    """Two arguments that are views of one buffer, against the same values in buffers of their own."""
    leaves = [(leaf, array) for leaf, array in leaves_of(ev.inputs) if array.size > 1]
    for (first, array), (second, other) in pairwise(leaves):
        if array.shape != other.shape or array.dtype != other.dtype:
            continue
        flat = np.ascontiguousarray(array).reshape(-1)
        whole, turned = flat.reshape(array.shape), flat[::-1].reshape(array.shape)
        for view, how in ((whole, "the same array"), (turned, "views of one buffer")):
            shared = ev.replaced(second, frozen(view), ev.replaced(first, frozen(whole)))
            apart = ev.replaced(second, frozen(view.copy()), ev.replaced(first, frozen(whole)))
            try:
                expected = snapshot(ev.forward(apart))
            except Exception:  # these values lie outside the domain
                continue
            fault = _try(ev, shared, expected)
            if fault:
                yield "GC130", fault.at(f"{first} and {second} as {how}")


def _try(ev: Evaluator, inputs: dict[str, Any], expected: list[ndarray], least: float = 0.0) -> _Fault | None:
    try:
        outputs = ev.forward(inputs)
    except Exception as error:  # user code
        return _raised("forward", error)
    # One of several results may be the small difference of numbers of the others' size.
    least = max(least, _largest([item for item in expected if is_float(item)]))
    return None if same(expected, list(outputs), _ulps(ev), least) else _Fault("forward gave another result")


def _try_backward(
    ev: Evaluator,
    inputs: dict[str, Any],
    douts: list[ndarray],
    expected: list[ndarray | None],
    change_outputs: ArrayMap | None,
    least: float = 0.0,
) -> _Fault | None:
    """Run backward on rearranged arrays, with forward's results rearranged as well where they are handed over."""
    backward = ev.checkable.backward
    try:
        if change_outputs is None or backward is None or ev.checkable.vjp is not None:
            found = ev.gradients(douts, inputs=inputs)
        else:
            outputs = [frozen(change_outputs(item)) for item in ev.outputs]
            needs = frozenset(leaf.name for leaf in ev.leaves)
            found = ev.by_leaf(backward(inputs, outputs, [frozen(item) for item in douts], ev.attrs, needs))
    except Exception as error:  # user code
        return _raised("backward", error)
    return None if same(expected, list(found.values()), _ulps(ev), least) else _Fault("backward gave another result")


def _raised(who: str, error: Exception) -> _Fault:
    """Return what was raised: a refusal, unless it was a write to an argument."""
    return _Fault(f"{who} raised {type(error).__name__}: {error}", is_refusal="read-only" not in str(error))


def _largest(arrays: Sequence[ndarray | None]) -> float:
    sizes = [largest(item) for item in arrays if item is not None]
    return max(sizes, default=0.0)


def _zero_strides(ev: Evaluator, douts: list[ndarray], gradients: list[ndarray | None]) -> Iterator[tuple[str, _Fault]]:
    """Zero strides change values, so both sides of the comparison are made of the same repeated values.

    All strides are zero in the gradient of a sum, one in what was expanded or comes of a sum over an axis.
    """
    has_axes = any(array.ndim > 1 for array in (*douts, *ev.case.arrays))
    for axis in (0, -1, None) if has_axes else (0,):
        found = _spread_gradients(ev, douts, gradients, axis) or _spread_inputs(ev, douts, gradients, axis)
        if found:
            yield found
            return


def _spread_gradients(
    ev: Evaluator, douts: list[ndarray], gradients: list[ndarray | None], axis: int | None
) -> tuple[str, _Fault] | None:
    if not (ev.leaves and ev.slots and sum(ev.sizes)):
        return None
    spread = [_broadcast(item, axis) for item in douts]
    try:
        dense = list(ev.gradients([np.ascontiguousarray(item).reshape(item.shape) for item in spread]).values())
    except Exception:  # then the layout is not the cause
        return None
    fault = _try_backward(ev, ev.inputs, spread, dense, None, _largest(gradients))
    return ("GC131", fault.at("an incoming gradient with zero strides")) if fault else None


def _spread_inputs(
    ev: Evaluator, douts: list[ndarray], gradients: list[ndarray | None], axis: int | None
) -> tuple[str, _Fault] | None:
    repeated = ev.map_inputs(lambda array: frozen(_broadcast(array, axis)))
    plain = ev.map_inputs(lambda array: frozen(_broadcast(array, axis).copy()))
    try:
        expected = list(ev.forward(plain))
    except Exception:  # the repeated values lie outside the domain
        return None
    fault = _try(ev, repeated, expected, _largest([item for item in ev.outputs if is_float(item)]))
    if fault:
        return "GC130", fault.at("arguments with zero strides")
    if not gradients:
        return None
    try:
        dense = list(ev.gradients(douts, inputs=plain).values())
    except Exception:  # the repeated values lie outside the domain
        return None
    fault = _try_backward(ev, repeated, douts, dense, None, _largest(gradients))
    if fault and not _is_steep(ev, plain, douts, dense):
        return "GC131", fault.at("forward's inputs with zero strides")
    return None


def _is_steep(ev: Evaluator, plain: dict[str, Any], douts: list[ndarray], dense: list[ndarray | None]) -> bool:
    """Say whether gradients at repeated values, such as those of a singular matrix, follow rounding alone."""
    moved = {
        name: [_next(item) for item in value] if isinstance(value, (list, tuple)) else _next(value)
        for name, value in plain.items()
    }
    try:
        found = list(ev.gradients(douts, inputs=moved).values())
    except Exception:
        return True
    return not same(dense, found, LAYOUT_ULPS, 0.0)


def _next(value: Any) -> Any:
    """Return a float array of the next larger numbers, anything else as it is."""
    return frozen(np.nextafter(value, np.inf, dtype=value.dtype)) if is_float(value) else value
